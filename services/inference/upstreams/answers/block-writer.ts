// Writes canonical block events: numbers blocks without gaps, keeps one open at a time, and ends every block that it began.
import assert from 'node:assert/strict';
import type { BlockDelta, BlockStart, Event, Foreign, Target } from '#proto/inference/v1/inference.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';
import { customToolInput } from '../requests/custom-tools.js';

type Block = NonNullable<BlockStart['block']>;
type ToolCall = Extract<Block, { $case: 'toolCall' }>['value'];

/** Collects events between two calls of `take`. */
export class BlockWriter {
  #events: Event[] = [];
  #nextIndex = 0;
  #open: Block['$case'] | undefined;
  #started = false;
  /** The arguments so far of a function that represents a custom tool. */
  #customArguments: string | undefined;
  /** The ids of the tool calls in the conversation and of those written so far. */
  #callIds: Set<string> | undefined;
  /** Kinds of block written so far. */
  readonly written = new Set<Block['$case']>();

  /**
   * `droppedFields` are the caller's fields that were not sent to the upstream; `customTools` are tools for which it has functions; `earlierCallIds`
   * returns the ids of the tool calls in the conversation.
   */
  constructor(
    private readonly target: Target,
    private readonly droppedFields: readonly string[] = [],
    private readonly customTools?: ReadonlySet<string>,
    private readonly earlierCallIds: () => Iterable<string> = () => [],
  ) {}

  /** Writes `started`, once; repeats are ignored. */
  start(upstreamRequestId: string, upstreamReportedModel: string): void {
    if (this.#started) return;
    this.#started = true;
    this.#write({
      $case: 'started',
      value: { target: this.target, upstreamRequestId, upstreamReportedModel, droppedFields: [...this.droppedFields] },
    });
  }

  /** Opens a block, after ending the one that is still open. */
  open(block: Block): void {
    this.close();
    this.#open = block.$case;
    this.written.add(block.$case);
    const opened: Block = block.$case === 'toolCall' ? { $case: 'toolCall', value: this.#ownCall(block.value) } : block;
    this.#write({ $case: 'blockStart', value: { index: this.#nextIndex, block: opened } });
  }

  #ownCall(call: ToolCall): ToolCall {
    const isCustom = this.customTools?.has(call.name) === true;
    if (isCustom) this.#customArguments = '';
    return { ...call, id: this.#unusedId(call.id), ...(isCustom ? { isCustom } : {}) };
  }

  /** Returns the id of a call, changed if the conversation has it: some servers use their ids again in each answer, and clients find results by id. */
  #unusedId(id: string): string {
    this.#callIds ??= new Set(this.earlierCallIds());
    let unused = id;
    // Callers of the messages format send an id back in the characters that their format allows.
    for (let count = 2; this.#callIds.has(unused) || this.#callIds.has(messagesToolId(unused)); count += 1) unused = `${id}_${count}`;
    this.#callIds.add(unused);
    return unused;
  }

  /** Returns the kind of the open block. */
  get openKind(): Block['$case'] | undefined {
    return this.#open;
  }

  /** Writes to the open block. Empty fragments are left out unless the upstream sent something alongside them. */
  delta(delta: NonNullable<BlockDelta['delta']>, extraJson?: string): void {
    if (delta.value === '' && extraJson === undefined) return;
    assert(this.#open !== undefined, 'A delta needs an open block.');
    if (this.#customArguments !== undefined && delta.$case === 'argumentsJson') {
      this.#customArguments += delta.value;
      return;
    }
    this.#write({ $case: 'blockDelta', value: { index: this.#nextIndex, delta } });
    if (extraJson !== undefined) this.attach(extraJson);
  }

  /** Ends the open block, if any. */
  close(): void {
    if (this.#open === undefined) return;
    this.#open = undefined;
    if (this.#customArguments !== undefined) {
      const value = customToolInput(this.#customArguments);
      this.#customArguments = undefined;
      this.#write({ $case: 'blockDelta', value: { index: this.#nextIndex, delta: { $case: 'argumentsJson', value } } });
    }
    this.#write({ $case: 'blockStop', value: { index: this.#nextIndex } });
    this.#nextIndex += 1;
  }

  /** Writes a piece of the answer that has no common form. */
  foreign(foreign: Foreign): void {
    this.#write({ $case: 'foreign', value: foreign });
  }

  /** Returns the number of events that wait to be taken. */
  get pending(): number {
    return this.#events.length;
  }

  /** Adds what the upstream sent alongside the meaning of an event, to the newest or the oldest event that waits to be taken. */
  attach(extraJson: string, to: 'newest' | 'oldest' = 'newest'): void {
    const event = this.#events.at(to === 'newest' ? -1 : 0);
    assert(event !== undefined, 'There is no event to attach to.');
    event.extraJson = extraJson;
  }

  /** Adds what surrounded the meaning of the newest event that waits to be taken. */
  attachBeside(besideJson: string): void {
    const event = this.#events.at(-1);
    assert(event !== undefined, 'There is no event to attach to.');
    event.envelopeJson = besideJson;
  }

  /** Returns the events written since the last call. */
  take(): Event[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #write(event: NonNullable<Event['event']>): void {
    this.#events.push({ event });
  }
}
