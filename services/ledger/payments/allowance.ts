// How many requests to the payment provider one account may cause: the provider limits our requests as a whole, so one account could
// otherwise keep all others from paying. Counted per process.

/** Maximum number of accounts tracked; the account whose window began first is dropped first. */
const accountsMax = 10_000;

/** Allows each account a number of requests per window of time. */
export class Allowance {
  private readonly windows = new Map<string, { sinceMs: number; used: number }>();

  constructor(
    private readonly max: number,
    private readonly windowMs: number,
  ) {}

  /** Uses one request: returns 0 when one was left, else how long to wait in whole milliseconds. `nowMs` is monotonic. */
  take(accountId: string, nowMs: number): number {
    const present = this.windows.get(accountId);
    if (present !== undefined && nowMs - present.sinceMs < this.windowMs) {
      if (present.used >= this.max) return Math.ceil(this.windowMs - (nowMs - present.sinceMs));
      present.used += 1;
      return 0;
    }
    this.windows.delete(accountId);
    if (this.windows.size >= accountsMax) this.windows.delete(this.windows.keys().next().value!);
    this.windows.set(accountId, { sinceMs: nowMs, used: 1 });
    return 0;
  }
}
