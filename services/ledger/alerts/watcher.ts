// The background job that checks the balances of accounts with an alert, and sends the alerts of budgets that are due. Each check reads a bounded
// page of alerts by key, each with its account's bucket, and the next check continues where it ended: the cost of a check does not grow with the
// number of accounts or alerts.
import { repeat } from '#kit/scheduling/repeat.js';
import type { DuePlace } from './budgets/due-alerts.js';
import { sendDue } from './budgets/send-due.js';
import type { AlertDeps } from './deps.js';
import { eventEntry, lowBalanceMessage, mailsTo } from './entries.js';
import { stepOf } from './hysteresis.js';
import { countMessages } from './model.js';
import type { AlertPlace, Watched } from './store/alerts.js';

/** Alerts per check; more are checked in turns, so that with n alerts each is checked every n / 500 intervals. */
const alertsPerCheck = 500;

/** Checks balances periodically until it is stopped. */
export class AlertWatcher {
  private place: AlertPlace | undefined;
  private duePlace: DuePlace | undefined;
  private stopRepeating: () => Promise<void> = async () => {};

  constructor(private readonly deps: AlertDeps) {}

  start(): void {
    const { config, log } = this.deps;
    this.stopRepeating = repeat(
      config.alertIntervalMs,
      () => this.check(),
      (error) => log.error({ err: error }, 'balances could not be checked for alerts; this will be retried'),
    );
  }

  /** Waits for the check in progress. */
  stop(): Promise<void> {
    return this.stopRepeating();
  }

  /** Checks one page of alerts, and sends one page of due alerts of budgets. */
  async check(): Promise<void> {
    const { watched, end } = await this.deps.alerts.watched(this.place, alertsPerCheck);
    this.place = end;
    for (const each of watched) await this.follow(each);
    this.duePlace = await sendDue(this.duePlace, this.deps);
  }

  private async follow({ alert, money }: Watched): Promise<void> {
    const { alerts, outbox, publicUrl, clock, log } = this.deps;
    const step = stepOf(alert, money.settledNanoUsd);
    if (step === 'rearm') await alerts.rearm(alert);
    if (step !== 'fire') return;
    const nowMs = clock.nowMs();
    const message = lowBalanceMessage(alert, { money, isTest: false, nowMs, publicUrl, newEntryId: outbox.newId });
    const mails = mailsTo(alert, message);
    const counts = countMessages(alert, mails.length, nowMs);
    // If the account may not get that many more mails within the hour, the alert fires once the hour is over, if the balance is still low then.
    if (counts === undefined) return;
    if (await alerts.fire({ ...alert, ...counts, firedAtMs: nowMs }, [...mails, eventEntry(alert.accountId, message)]))
      log.info({ account_id: alert.accountId, mails: mails.length }, 'a low-balance alert fired');
  }
}
