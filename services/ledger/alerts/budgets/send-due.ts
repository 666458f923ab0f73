// Sends the alerts of budgets that are due, each once: its row is removed in the transaction that creates its notifications.
import { newId } from '#kit/id.js';
import type { AlertDeps } from '../deps.js';
import { type AlertMessage, eventEntry, mailsTo } from '../entries.js';
import { countMessages } from '../model.js';
import type { DueBudgetAlert, DuePlace } from './due-alerts.js';
import { type BudgetEvent, budgetEventJson, budgetMailText } from './message.js';

const alertsPerCheck = 100;

/** Sends one page of due alerts. Returns the place where the next check continues; undefined to begin again. */
export async function sendDue(place: DuePlace | undefined, deps: AlertDeps): Promise<DuePlace | undefined> {
  const { due, end } = await deps.dueAlerts.page(place, alertsPerCheck);
  for (const each of due) await send(each, deps);
  return end;
}

async function send(due: DueBudgetAlert, { alerts, dueAlerts, outbox, publicUrl, clock, log }: AlertDeps): Promise<void> {
  const { accountId, percent, spentNanoUsd, atMs, budget } = due;
  const nowMs = clock.nowMs();
  const alert = await alerts.find(accountId);
  const event: BudgetEvent = { id: newId('evt', nowMs), accountId, budget, percent, spentNanoUsd, atMs };
  const message: AlertMessage = {
    eventJson: budgetEventJson(event),
    mail: budgetMailText(event, publicUrl, alert?.language),
    once: false,
    newEntryId: () => outbox.newId(nowMs),
  };
  const mails = alert === undefined ? [] : mailsTo(alert, message);
  const counts = alert === undefined ? undefined : countMessages(alert, mails.length, nowMs);
  // If the account may not get that many more mails within the hour, the alert is sent once the hour is over.
  if (alert !== undefined && counts === undefined) return;
  const counted = alert === undefined ? undefined : { ...alert, ...counts };
  if (await alerts.send(counted, [...mails, eventEntry(accountId, message)], (tx) => dueAlerts.remove(tx, due)))
    log.info({ account_id: accountId, budget_id: budget.budgetId, percent, mails: mails.length }, 'an alert of a budget fired');
}
