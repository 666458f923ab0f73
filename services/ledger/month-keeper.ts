// The background job that adds up what a version without statements wrote. When none runs any more it finds nothing.
import { AppError } from '#kit/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/repeat.js';
import type { Months } from './store/months.js';

/** Looks through all accounts, so not often; who asks for a statement meanwhile has that account added up at once. */
const intervalMs = 600_000;
const accountsPageSize = 100;
/** How many times a thousand entries are added up for somebody who waits. */
const stepsOfReader = 20;

/** Keeps statements up with the journal until it is stopped. */
export class MonthKeeper {
  private stopRepeating: () => Promise<void> = async () => {};
  private isStopping = false;

  constructor(private readonly deps: { readonly months: Months; readonly log: Logger }) {}

  start(): void {
    const { log } = this.deps;
    const work = async (): Promise<void> => {
      const added = await this.catchUpAll();
      if (added > 0) log.info({ accounts: added }, 'entries were added up for statements by month');
    };
    const failed = (error: unknown): void =>
      log.error({ err: error }, 'entries could not be added up for statements by month; this will be tried again');
    const first = work().catch(failed);
    const stop = repeat(intervalMs, work, failed);
    this.stopRepeating = async () => {
      await first;
      await stop();
    };
  }

  /** Waits for the step that is under way. */
  stop(): Promise<void> {
    this.isStopping = true;
    return this.stopRepeating();
  }

  /** Adds up all accounts; how many were behind. */
  async catchUpAll(): Promise<number> {
    let added = 0;
    for (let last: string | undefined; ;) {
      const accountIds = await this.deps.months.accountIdsBehind(last, accountsPageSize);
      for (const accountId of accountIds) {
        while (!this.isStopping && !(await this.deps.months.catchUp(accountId)));
      }
      added += accountIds.length;
      last = accountIds.at(-1);
      if (accountIds.length < accountsPageSize || this.isStopping) return added;
    }
  }
}

/** Adds up the rest of one account for somebody who waits. Raises service_unavailable, worth a retry, when much is left to do. */
export async function catchUp(accountId: string, months: Months): Promise<void> {
  for (let step = 0; step < stepsOfReader; step += 1) if (await months.catchUp(accountId)) return;
  throw new AppError('service_unavailable', 'The statements of this account are being made from its journal; try again shortly.', {
    retryAfterMs: 2000,
  });
}
