// Sends the alerts of budgets that are due, each once: its row is removed in the transaction that creates its notifications.
import { newId } from '#kit/id.js';
import type { AlertDeps } from '../deps.js';
import { notificationsTo } from '../entries.js';
import { countMessages } from '../model.js';
import type { DueBudgetAlert, DuePlace } from './due-alerts.js';
import { type BudgetEvent, budgetEventJson, budgetMailText } from './message.js';

const alertsPerLook = 100;

/** Sends one page of due alerts. Returns the place where the next look continues; undefined to begin again. */
export async function sendDue(place: DuePlace | undefined, deps: AlertDeps): Promise<DuePlace | undefined> {
  const { due, end } = await deps.dueAlerts.page(place, alertsPerLook);
  for (const each of due) await send(each, deps);
  return end;
}

async function send(due: DueBudgetAlert, { alerts, dueAlerts, outbox, publicUrl, clock, log }: AlertDeps): Promise<void> {
  const { accountId, percent, spentNanoUsd, atMs, budget } = due;
  const nowMs = clock.nowMs();
  const alert = await alerts.find(accountId);
  const event: BudgetEvent = { id: newId('evt', nowMs), accountId, budget, percent, spentNanoUsd, atMs };
  const entries =
    alert === undefined
      ? []
      : notificationsTo(alert, {
          eventJson: budgetEventJson(event),
          mail: budgetMailText(event, publicUrl),
          once: false,
          newEntryId: () => outbox.newId(nowMs),
        });
  const remove = (tx: Parameters<typeof dueAlerts.remove>[0]) => dueAlerts.remove(tx, due);
  if (alert === undefined || entries.length === 0) {
    // An account without a destination is not notified, now or later.
    await alerts.inTransaction(remove);
    return;
  }
  const counts = countMessages(alert, entries.length, nowMs);
  // Without room it is sent once the hour is over.
  if (counts === undefined) return;
  if (await alerts.send({ ...alert, ...counts }, entries, remove))
    log.info({ account_id: accountId, budget_id: budget.budgetId, percent, messages: entries.length }, 'an alert of a budget fired');
}
