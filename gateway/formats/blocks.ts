// The content blocks of an answer, assembled from its events: the source of whole answers in the chat-completions and messages formats.
import { type BlockStart, type Event, StopReason } from '#proto/inference/v1/inference.js';

/** Holds one block of an answer, as far as its events have arrived. */
export interface Block {
  kind: 'text' | 'refusal' | 'reasoning' | 'toolCall' | 'foreign';
  /** The text of a text, refusal or reasoning block. */
  text: string;
  /** The signature of a reasoning block; empty if the vendor sent none. */
  signature: string;
  /** The data of a redacted reasoning block; its text is then empty. */
  redactedData: string;
  /** The id of a tool call. */
  id: string;
  name: string;
  /** Whether it is a call of a custom tool, whose arguments are free text. */
  isCustom: boolean;
  /** JSON as the model wrote it, possibly invalid or empty. */
  argumentsJson: string;
  /** A block without a common form, as it opened: JSON of the upstream's format. Empty otherwise. */
  foreignJson: string;
  /** Deltas without a common form, in order: JSON of the upstream's format. */
  foreignDeltas: string[];
}

/** Collects the blocks of one answer, in the order of their starts, and how it ended. */
export class Blocks {
  readonly list: Block[] = [];
  stopReason = StopReason.STOP_REASON_UNSPECIFIED;
  /** The stop sequence that was matched; empty if none or unknown. */
  stopSequence = '';
  /** Whether the finished event has arrived. */
  finished = false;
  private readonly byIndex = new Map<number, Block>();

  push(events: readonly Event[]): void {
    for (const event of events) this.add(event);
  }

  /** Adds one event. Returns the block that it belongs to, if any. */
  add({ event }: Event): Block | undefined {
    switch (event?.$case) {
      case 'blockStart': {
        const block = emptyBlock(event.value);
        this.list.push(block);
        this.byIndex.set(event.value.index, block);
        return block;
      }
      case 'blockDelta': {
        const block = this.byIndex.get(event.value.index);
        if (block === undefined || event.value.delta === undefined) return block;
        const { $case, value } = event.value.delta;
        if ($case === 'foreignJson') block.foreignDeltas.push(value);
        else block[$case] += value;
        return block;
      }
      case 'blockStop':
        return this.byIndex.get(event.value.index);
      case 'finished':
        this.finished = true;
        this.stopReason = event.value.stopReason;
        this.stopSequence = event.value.stopSequence;
        return undefined;
      default:
        return undefined;
    }
  }

  /** Returns the joined text of all blocks of a kind; undefined if there is no such block. */
  textOf(kind: Block['kind']): string | undefined {
    const blocks = this.list.filter((block) => block.kind === kind);
    return blocks.length === 0 ? undefined : blocks.map((block) => block.text).join('');
  }
}

/** Returns a block that has just begun. */
export function emptyBlock({ block }: BlockStart): Block {
  const empty: Block = {
    kind: block?.$case ?? 'text',
    text: '',
    signature: '',
    redactedData: '',
    id: '',
    name: '',
    isCustom: false,
    argumentsJson: '',
    foreignJson: '',
    foreignDeltas: [],
  };
  if (block?.$case === 'toolCall') return { ...empty, id: block.value.id, name: block.value.name, isCustom: block.value.isCustom === true };
  if (block?.$case === 'reasoning') return { ...empty, redactedData: block.value.redactedData };
  if (block?.$case === 'foreign') return { ...empty, foreignJson: block.value.json };
  return empty;
}
