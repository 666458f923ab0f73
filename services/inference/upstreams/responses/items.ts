// The output items of one stream. One of them is written at a time; what arrives for later ones waits for their turn.
import { type JsonObject, malformed, optionalTextField } from '../answers/stream-decoder.js';

/** Maximum number of items in one answer. */
const itemsMax = 1024;

/** An output item. */
export interface Item {
  readonly type: string;
  /** The item as it was announced. */
  readonly added: JsonObject;
  /** The upstream's output_index, if it sends one. */
  readonly index: unknown;
  /** The upstream's id; empty if it sends none. */
  readonly id: string;
  /** Payloads that wait for the item's turn. */
  readonly waiting: string[];
  hasBegun: boolean;
  hasEnded: boolean;
  /** How many characters of each piece of text have been written. */
  readonly written: Map<string, number>;
  /** The piece that was written last. */
  piece: string | undefined;
  /** The end of the content part whose block is open. */
  part: JsonObject | undefined;
}

/** Keeps the items in the order of their arrival. */
export class Items {
  readonly #all: Item[] = [];
  #ended = 0;

  /** Reports whether none was announced. */
  get isEmpty(): boolean {
    return this.#all.length === 0;
  }

  /** Returns the item whose turn it is: the first that has not ended. */
  get current(): Item | undefined {
    return this.#all[this.#ended];
  }

  /** Adds an item after all others. */
  add(added: JsonObject, index: unknown): Item {
    if (this.#all.length >= itemsMax) throw malformed(`more than ${itemsMax} output items`);
    const item: Item = {
      type: optionalTextField(added, 'type'),
      added,
      index,
      id: optionalTextField(added, 'id'),
      waiting: [],
      hasBegun: false,
      hasEnded: false,
      written: new Map(),
      piece: undefined,
      part: undefined,
    };
    this.#all.push(item);
    return item;
  }

  /** Ends the current item. */
  endCurrent(): void {
    this.current!.hasEnded = true;
    this.#ended += 1;
  }

  /** Returns the item with this index and id. Some servers number all items 0; others send a different id in every event, or neither index nor id. */
  find(index: unknown, id: string): Item | undefined {
    const atIndex = index === undefined ? undefined : this.#all.findLast((item) => item.index === index);
    if (atIndex !== undefined && (id === '' || atIndex.id === id)) return atIndex;
    const withId = id === '' ? undefined : this.#all.findLast((item) => item.id === id);
    return withId ?? atIndex ?? (index === undefined && id === '' ? this.#all.at(-1) : undefined);
  }
}
