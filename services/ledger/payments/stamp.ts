// The account of a payment, stamped so that it cannot be forged: others who use the same account at the provider (a shop, a payment link
// whose parameters anybody may choose) could write any account into the data that comes back with a payment. Pure.
import { createHmac, timingSafeEqual } from 'node:crypto';

/** What travels with a payment and comes back with it. */
export type Stamp = Readonly<Record<'tollgate_account' | 'tollgate_reference' | 'tollgate_stamp', string>>;

/** Stamps the account of a payment under each of the secrets: while one of them is being changed, the other still vouches. */
export function stampOf(accountId: string, reference: string, secrets: readonly string[]): Stamp {
  return {
    tollgate_account: accountId,
    tollgate_reference: reference,
    tollgate_stamp: secrets.map((secret) => digestOf(accountId, reference, secret)).join('.'),
  };
}

/** The account that we stamped; undefined when this is none of our stamps. */
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

function digestOf(accountId: string, reference: string, secret: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['tollgate payment', accountId, reference]))
    .digest('base64url');
}
