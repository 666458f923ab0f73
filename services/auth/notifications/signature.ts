// How requests to webhooks are signed, by the Standard Webhooks specification (https://www.standardwebhooks.com). Pure.
import { createHmac, randomBytes } from 'node:crypto';

const secretPrefix = 'whsec_';
const secretBytes = 32;

/** Returns a new signing secret: "whsec_" and random bytes in base64. */
export function newSigningSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/** Returns the headers that identify and sign a request: one signature per secret, so that receivers can replace theirs without a gap. */
export function signatureHeaders(signed: {
  readonly eventId: string;
  readonly body: string;
  readonly secrets: readonly string[];
  readonly nowMs: number;
}): Record<string, string> {
  const { eventId, body, secrets, nowMs } = signed;
  const seconds = Math.floor(nowMs / 1000);
  const signatureBy = (secret: string): string =>
    createHmac('sha256', Buffer.from(secret.slice(secretPrefix.length), 'base64'))
      .update(`${eventId}.${seconds}.${body}`)
      .digest('base64');
  return {
    'webhook-id': eventId,
    'webhook-timestamp': String(seconds),
    'webhook-signature': secrets.map((secret) => `v1,${signatureBy(secret)}`).join(' '),
  };
}
