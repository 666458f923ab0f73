// Counts the good and the bad outcomes of a target within a sliding window. Pure: the caller passes the time.

/** The window moves by one slot at a time. */
const slots = 10;

/** Holds the counts. Its size does not depend on the number of calls. */
export class OutcomeWindow {
  /** For each slot: all outcomes, then the bad ones. */
  readonly #counts = new Uint32Array(2 * slots);
  #slot = 0;
  /** The outcomes of the window, and the bad ones among them. */
  total = 0;
  bad = 0;

  constructor(private readonly windowMs: number) {}

  /** Adds an outcome, and forgets those that are too old. */
  note(isBad: boolean, nowMs: number): void {
    this.advance(nowMs);
    const at = 2 * (this.#slot % slots);
    this.#counts[at]! += 1;
    this.total += 1;
    if (!isBad) return;
    this.#counts[at + 1]! += 1;
    this.bad += 1;
  }

  /** Forgets the outcomes that are too old. */
  advance(nowMs: number): void {
    const slot = Math.floor((nowMs * slots) / this.windowMs);
    if (slot - this.#slot >= slots) this.clear();
    else
      for (let past = this.#slot + 1; past <= slot; past += 1) {
        const at = 2 * (past % slots);
        this.total -= this.#counts[at]!;
        this.bad -= this.#counts[at + 1]!;
        this.#counts[at] = this.#counts[at + 1] = 0;
      }
    this.#slot = Math.max(this.#slot, slot);
  }

  /** Forgets all outcomes. */
  clear(): void {
    this.#counts.fill(0);
    this.total = this.bad = 0;
  }
}
