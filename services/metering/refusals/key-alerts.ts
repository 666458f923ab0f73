// The background job that hands alerts about refused keys to the ledger, which knows where an account wants them.
import { callContext } from '#client/call-context.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { repeat } from '#kit/scheduling/repeat.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import { claimKeyAlert, clearKeyAlert, type DueKeyAlert, dueKeyAlerts } from '../store/refusals/refused-keys.js';

/** How often alerts that the ledger did not accept are retried. Alerts that become due are sent immediately. */
const retryMsDefault = 60_000;
const timeoutMs = 10_000;
/** How long no other replica sends an alert that this one is sending; longer than the timeout, and over before the next retry. */
const claimMs = 30_000;
const alertsAtATime = 100;

/** Sends due alerts when it is woken, and retries the rest periodically. */
export class KeyAlerts {
  private sending: Promise<void> | undefined;
  private isWanted = false;
  private stopRepeating: () => Promise<void> = async () => {};

  constructor(
    private readonly deps: { alerts: Pick<AlertService, 'alertKeyRefused'> | undefined; db: Database; clock: Clock; log: Logger },
    private readonly retryMs = retryMsDefault,
  ) {}

  start(): void {
    const { log } = this.deps;
    this.stopRepeating = repeat(
      this.retryMs,
      () => this.sendAll(),
      (error) => log.warn({ err: error }, 'alerts about refused keys could not be sent; this will be retried'),
    );
  }

  async stop(): Promise<void> {
    await this.stopRepeating();
    await this.sending?.catch(() => undefined);
  }

  /** Sends the due alerts in the background. */
  wake(): void {
    // A send in progress may not have read what is due now; it reports its own failure.
    if (this.sending !== undefined) this.isWanted = true;
    else
      this.sendAll().catch((error: unknown) =>
        this.deps.log.warn({ err: error }, 'alerts about refused keys could not be sent; this will be retried'),
      );
  }

  /** Sends all that is due. Two sends at the same time would send each alert twice. */
  private sendAll(): Promise<void> {
    this.isWanted = true;
    return (this.sending ??= this.sendWanted());
  }

  private async sendWanted(): Promise<void> {
    try {
      while (this.isWanted) {
        this.isWanted = false;
        await this.send();
      }
    } finally {
      this.sending = undefined;
    }
  }

  private async send(): Promise<void> {
    const { alerts, db, clock } = this.deps;
    if (alerts === undefined) return;
    let all: DueKeyAlert[];
    do {
      all = await dueKeyAlerts(db, clock.nowMs(), alertsAtATime);
      for (const due of all) {
        const claimed = await claimKeyAlert(db, due, clock.nowMs() + claimMs);
        if (claimed === undefined) continue;
        const { accountId, keyId, projectId, reason, sinceMs } = claimed;
        await alerts.alertKeyRefused(
          { accountId, keyId, projectId, reason, refusedAtMs: BigInt(sinceMs) },
          callContext({ caller: 'metering', timeoutMs }),
        );
        await clearKeyAlert(db, claimed);
      }
    } while (all.length === alertsAtATime);
  }
}
