// Counts turns of the event loop, to show that long work lets other work of the process run.

/** Counts turns from its creation until it is stopped. */
export class TurnCounter {
  /** The number of turns so far. */
  turns = 0;
  private next = setImmediate(() => this.count());

  stop(): void {
    clearImmediate(this.next);
  }

  private count(): void {
    this.turns += 1;
    this.next = setImmediate(() => this.count());
  }
}
