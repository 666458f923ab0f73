// Validation of the fields of callers. Each function returns the value to work with or raises invalid_request.
import { spiffeId } from '#kit/rpc/grpc/grpc-identity.js';
import { AccountLimit, CallerCertificate } from '#proto/auth/v1/callers.js';
import { builtInCallers, grants as knownGrants } from '#rules/access/callers.js';
import { accountIdBytes, invalidField } from '../requests/fields.js';

const nameForm = /^[a-z][a-z0-9-]{1,62}$/;
const commonNameForm = /^CN=[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/;
const identityCharactersMax = 500;
const grantsMax = 50;
const accountsMax = 100;
// Names that could be mistaken for parts of the installation, current or future.
const reservedNames = new Set([
  ...Object.keys(builtInCallers),
  'tollgate',
  'notifier',
  'single',
  'distributed',
  'admin',
  'root',
  'unknown',
]);

/** Checks the name of a caller that is not built in. */
export function checkedCallerName(name: string): string {
  if (!nameForm.test(name))
    throw invalidField('name', 'name must have 2 to 63 lower-case letters, digits and hyphens, and begin with a letter.');
  if (reservedNames.has(name)) throw invalidField('name', `"${name}" is reserved for the installation; choose another name.`);
  return name;
}

/** Returns what the caller's certificate must show; "CN=<name>" by default. */
export function checkedIdentity(identity: string, name: string): string {
  if (identity === '') return `CN=${name}`;
  const isValid = identity.length <= identityCharactersMax && (spiffeId.test(identity) || commonNameForm.test(identity));
  if (!isValid)
    throw invalidField('identity', 'identity must be a SPIFFE id such as "spiffe://example.com/billing", or "CN=" and a common name.');
  if (identity.startsWith('CN=') && reservedNames.has(identity.slice(3).toLowerCase()))
    throw invalidField('identity', `"${identity}" is reserved for the installation.`);
  return identity;
}

/** Checks that the grants exist; returns each once and in order. */
export function checkedGrants(grants: readonly string[]): string[] {
  const unknown = grants.find((grant) => !knownGrants.includes(grant));
  if (unknown !== undefined)
    throw invalidField('grants', `There is no grant "${unknown.slice(0, 100)}". The grants are: ${knownGrants.join(', ')}.`);
  const unique = [...new Set(grants)].sort();
  if (unique.length === 0 || unique.length > grantsMax) throw invalidField('grants', `grants must name 1 to ${grantsMax} grants.`);
  return unique;
}

/** Returns account ids, each once; undefined for every account. */
export function checkedAccountLimit(limit: AccountLimit | undefined): AccountLimit | undefined {
  if (limit === undefined) return undefined;
  const accountIds = [...new Set(limit.accountIds)];
  if (accountIds.length === 0 || accountIds.length > accountsMax) {
    throw invalidField(
      'account_limit.account_ids',
      `account_limit.account_ids must name 1 to ${accountsMax} accounts; leave account_limit out for every account.`,
    );
  }
  for (const id of accountIds) accountIdBytes(id);
  return { accountIds };
}

/** Checks that a certificate has not expired. */
export function checkedCertificate(certificate: CallerCertificate, nowMs: number): CallerCertificate {
  if (certificate.sha256.length !== 32) throw invalidField('certificate.sha256', 'certificate.sha256 must have the 32 bytes of a SHA-256.');
  if (certificate.expiresAtMs <= BigInt(nowMs))
    throw invalidField('certificate.expires_at_ms', 'certificate.expires_at_ms must be in the future.');
  return { sha256: Buffer.from(certificate.sha256), expiresAtMs: certificate.expiresAtMs, validUntilMs: undefined };
}
