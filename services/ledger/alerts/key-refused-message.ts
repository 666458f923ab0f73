// The texts of alerts about keys whose calls are refused, for programs and for users. Pure.
import { webhookBody } from '#rules/webhook-events.js';

/** Calls of a key that have begun to be refused. */
export interface KeyRefusedEvent {
  readonly id: string;
  readonly accountId: string;
  readonly keyId: string;
  readonly projectId: string;
  readonly reason: string;
  readonly sinceMs: number;
}

/** Returns the event as JSON. */
export function keyRefusedJson({ id, accountId, keyId, projectId, reason, sinceMs }: KeyRefusedEvent): string {
  return webhookBody({ id, type: 'key.refused', accountId, atMs: sinceMs, data: { key_id: keyId, project_id: projectId, reason } });
}

const sentences: Readonly<Record<string, string>> = {
  account_suspended: 'The account is suspended.',
  address_not_permitted: 'The key was used from an address that is not among its allowed addresses.',
  balance_empty: 'The balance does not cover the calls.',
  budget_reached: 'A budget of the key, its project or its account is used up.',
  key_disabled: 'The key is disabled.',
  key_expired: 'The key has expired.',
  key_limit_reached: 'The key has reached its spending limit.',
  key_revoked: 'The key is revoked.',
  model_not_permitted: 'The key may not call the requested model.',
};

/** Returns the subject and text of a mail. Without a public address there is no link, only directions to the page. */
export function keyRefusedMail(event: KeyRefusedEvent, publicUrl: string | undefined): { subject: string; text: string } {
  const { id, accountId, keyId, reason, sinceMs } = event;
  const place = (page: string, name: string): string =>
    publicUrl === undefined ? `the console, under ${name}` : `${publicUrl}/console/accounts/${accountId}${page}`;
  const lines = [
    `Calls with key ${keyId} of account ${accountId} have been refused since ${new Date(sinceMs).toISOString()}.`,
    ...(sentences[reason] === undefined ? [] : [sentences[reason]]),
    `Error code: ${reason}`,
    '',
    `See the key: ${place(`/keys/${keyId}`, 'API keys')}`,
    '',
    'You are notified at most once per hour for the same key and error code.',
    '',
    `To change who is notified: ${place('/billing', 'Billing')}`,
    `${id}`,
    '',
  ];
  return { subject: `Calls of a key are being refused: ${reason}`, text: lines.join('\n') };
}
