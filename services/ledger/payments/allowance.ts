// How often one account may have the payment provider asked: the provider counts our requests together, so that one account could
// otherwise keep all others from paying. Of this process alone.

/** Accounts that are remembered; the one that has asked for the longest time is forgotten first. */
const accountsMax = 10_000;

/** So many requests of an account in a window of time. */
export class Allowance {
  private readonly windows = new Map<string, { sinceMs: number; used: number }>();

  constructor(
    private readonly max: number,
    private readonly windowMs: number,
  ) {}

  /** Uses one up: 0 when there was one, else how long to wait in milliseconds. */
  take(accountId: string, nowMs: number): number {
    const present = this.windows.get(accountId);
    if (present !== undefined && nowMs - present.sinceMs < this.windowMs) {
      if (present.used >= this.max) return this.windowMs - (nowMs - present.sinceMs);
      present.used += 1;
      return 0;
    }
    this.windows.delete(accountId);
    if (this.windows.size >= accountsMax) this.windows.delete(this.windows.keys().next().value!);
    this.windows.set(accountId, { sinceMs: nowMs, used: 1 });
    return 0;
  }
}
