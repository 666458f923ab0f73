// AlertKeyRefused: reports that calls of a key have begun to be refused.
import type { CallContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import { isDuplicate } from '#kit/db/errors.js';
import { derivedId } from '#kit/id.js';
import type { AlertKeyRefusedRequest, AlertKeyRefusedResponse } from '#proto/ledger/v1/alerts.js';
import { checkedId, checkedText } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { type AlertMessage, eventEntry, mailsTo } from '../entries.js';
import { type KeyRefusedEvent, keyRefusedJson, keyRefusedMail } from '../key-refused-message.js';
import { countMessages } from '../model.js';

const reasonCharactersMax = 64;

/**
 * All ids follow from the request, so that a repeat after a lost answer is not sent again. Raises invalid_request and service_unavailable (the alert was
 * changed at the same time).
 */
export async function alertKeyRefused(
  request: AlertKeyRefusedRequest,
  _context: CallContext,
  { alerts, publicUrl, clock, log }: AlertDeps,
): Promise<AlertKeyRefusedResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const keyId = checkedId('key_id', 'key', request.keyId);
  const { projectId } = request;
  const reason = checkedText('reason', request.reason, reasonCharactersMax);
  const nowMs = clock.nowMs();
  const alert = await alerts.find(accountId);
  const sinceMs = Number(request.refusedAtMs);
  const id = derivedId('evt', sinceMs, `key.refused ${accountId} ${keyId} ${reason}`);
  const event: KeyRefusedEvent = { id, accountId, keyId, projectId, reason, sinceMs };
  const message: AlertMessage = {
    eventJson: keyRefusedJson(event),
    mail: keyRefusedMail(event, publicUrl, alert?.language),
    once: false,
    newEntryId: (destination) => derivedId('ntf', sinceMs, `${id} ${destination}`),
  };
  const all = alert === undefined ? [] : mailsTo(alert, message);
  const counts = alert === undefined ? undefined : countMessages(alert, all.length, nowMs);
  // An account that has had too many mails within the hour gets none about this key; the event is sent in any case.
  const mails = counts === undefined ? [] : all;
  const counted = alert === undefined || counts === undefined ? undefined : { ...alert, ...counts };
  const isSent = await alerts.send(counted, [...mails, eventEntry(accountId, message)]).catch((error: unknown) => {
    // A repeat, while the same entries are on their way to the notifier.
    if (isDuplicate(error)) return true;
    throw error;
  });
  // Another process has changed the alert since it was read; metering retries.
  if (!isSent) throw new AppError('service_unavailable', 'The alert was changed at the same time. Try again.');
  log.info({ account_id: accountId, key_id: keyId, reason, mails: mails.length }, 'an alert of a refused key was sent');
  return { mails: mails.length };
}
