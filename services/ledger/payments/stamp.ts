// The account of a payment, stamped so that it cannot be forged: other users of the same account at the provider (a shop, a payment link
// with freely chosen parameters) could write any account into the data that comes back with a payment. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { isId } from '#kit/id.js';

/** The data sent with a payment, which comes back with its events. */
export type Stamp = Readonly<Record<'tollgate_account' | 'tollgate_reference' | 'tollgate_stamp', string>>;

/** Stamps the account of a payment with each of the secrets: while one of them is rotated, the stamp of the other is still valid. */
export function stampOf(accountId: string, reference: string, secrets: readonly string[]): Stamp {
  return {
    tollgate_account: accountId,
    tollgate_reference: reference,
    tollgate_stamp: secrets.map((secret) => digestOf(accountId, reference, secret)).join('.'),
  };
}

/** Returns the account in the stamp; undefined when the stamp is not ours. */
export function accountOfStamp(data: Readonly<Record<string, string>> | null | undefined, secrets: readonly string[]): string | undefined {
  const { tollgate_account: accountId, tollgate_reference: reference, tollgate_stamp: stamp } = data ?? {};
  if (accountId === undefined || reference === undefined || stamp === undefined) return undefined;
  const digests = stamp.split('.').map((each) => Buffer.from(each));
  const isOurs = secrets.some((secret) => {
    const wanted = Buffer.from(digestOf(accountId, reference, secret));
    return digests.some((digest) => digest.length === wanted.length && timingSafeEqual(digest, wanted));
  });
  return isOurs ? accountId : undefined;
}

/** Returns the account that the data names, with any stamp: anyone may have written it. */
export function namedAccount(data: Readonly<Record<string, string>> | null | undefined): string | undefined {
  const accountId = data?.['tollgate_account'];
  return accountId !== undefined && isId('acct', accountId) ? accountId : undefined;
}

function digestOf(accountId: string, reference: string, secret: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['tollgate payment', accountId, reference]))
    .digest('base64url');
}
