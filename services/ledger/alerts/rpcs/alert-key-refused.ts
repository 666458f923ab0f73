// AlertKeyRefused: tells an account's destinations that calls of a key have begun to be refused.
import type { CallContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import type { AlertKeyRefusedRequest, AlertKeyRefusedResponse } from '#proto/ledger/v1/alerts.js';
import { checkedId, checkedText } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { notificationsTo } from '../entries.js';
import { type KeyRefusedEvent, keyRefusedJson, keyRefusedMail } from '../key-refused-message.js';
import { countMessages, hourMs, messagesPerHourMax } from '../model.js';

const reasonCharactersMax = 64;

/** Raises invalid_request, overloaded (too many messages within an hour) and service_unavailable (the alert was changed at the same time). */
export async function alertKeyRefused(
  request: AlertKeyRefusedRequest,
  _context: CallContext,
  { alerts, outbox, publicUrl, clock, log }: AlertDeps,
): Promise<AlertKeyRefusedResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const keyId = checkedId('key_id', 'key', request.keyId);
  const { projectId } = request;
  const reason = checkedText('reason', request.reason, reasonCharactersMax);
  const nowMs = clock.nowMs();
  const alert = await alerts.find(accountId);
  if (alert === undefined) return { messages: 0 };
  const event: KeyRefusedEvent = { id: newId('evt', nowMs), accountId, keyId, projectId, reason, sinceMs: Number(request.refusedAtMs) };
  const entries = notificationsTo(alert, {
    eventJson: keyRefusedJson(event),
    mail: keyRefusedMail(event, publicUrl),
    once: false,
    newEntryId: () => outbox.newId(nowMs),
  });
  if (entries.length === 0) return { messages: 0 };
  const counts = countMessages(alert, entries.length, nowMs);
  if (counts === undefined) throw fault('alerts_per_hour', { max: messagesPerHourMax }, { retryAfterMs: hourMs });
  // Another process has changed the alert since it was read: metering tries again.
  if (!(await alerts.send({ ...alert, ...counts }, entries, async () => true)))
    throw new AppError('service_unavailable', 'The alert was changed at the same time. Try again.');
  log.info({ account_id: accountId, key_id: keyId, reason, messages: entries.length }, 'an alert of a refused key was sent');
  return { messages: entries.length };
}
