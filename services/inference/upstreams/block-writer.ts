// Writes canonical block events: numbers blocks without gaps, keeps one open at a time, ends each that it began.
import assert from 'node:assert/strict';
import type { BlockDelta, BlockStart, Event, Foreign, Target } from '#proto/inference/v1/inference.js';

type Block = NonNullable<BlockStart['block']>;

/** Collects events between two calls of `take`. */
export class BlockWriter {
  #events: Event[] = [];
  #nextIndex = 0;
  #open: Block['$case'] | undefined;
  #started = false;
  /** Kinds of block written so far. */
  readonly written = new Set<Block['$case']>();

  /** `droppedFields` are those of the caller's that the upstream was not sent. */
  constructor(
    private readonly target: Target,
    private readonly droppedFields: readonly string[] = [],
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

  /** Opens a block; one that is still open is ended first. */
  open(block: Block): void {
    this.close();
    this.#open = block.$case;
    this.written.add(block.$case);
    this.#write({ $case: 'blockStart', value: { index: this.#nextIndex, block } });
  }

  /** The kind of the open block. */
  get openKind(): Block['$case'] | undefined {
    return this.#open;
  }

  /** Writes into the open block; empty fragments are left out, unless the upstream said something beside them. */
  delta(delta: NonNullable<BlockDelta['delta']>, extraJson?: string): void {
    if (delta.value === '' && extraJson === undefined) return;
    assert(this.#open !== undefined, 'A delta needs an open block.');
    this.#write({ $case: 'blockDelta', value: { index: this.#nextIndex, delta } });
    if (extraJson !== undefined) this.attach(extraJson);
  }

  /** Ends the open block, if any. */
  close(): void {
    if (this.#open === undefined) return;
    this.#open = undefined;
    this.#write({ $case: 'blockStop', value: { index: this.#nextIndex } });
    this.#nextIndex += 1;
  }

  /** Writes a piece of the answer that has no common form. */
  foreign(foreign: Foreign): void {
    this.#write({ $case: 'foreign', value: foreign });
  }

  /** How many events wait to be taken. */
  get pending(): number {
    return this.#events.length;
  }

  /** Adds what the upstream said beside the meaning of an event: of the newest that waits to be taken, or of the oldest. */
  attach(extraJson: string, to: 'newest' | 'oldest' = 'newest'): void {
    const event = this.#events.at(to === 'newest' ? -1 : 0);
    assert(event !== undefined, 'There is no event to attach to.');
    event.extraJson = extraJson;
  }

  /** Adds what stood around the meaning of the newest event that waits to be taken. */
  attachBeside(besideJson: string): void {
    const event = this.#events.at(-1);
    assert(event !== undefined, 'There is no event to attach to.');
    event.envelopeJson = besideJson;
  }

  /** The events written since the last call. */
  take(): Event[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #write(event: NonNullable<Event['event']>): void {
    this.#events.push({ event });
  }
}
