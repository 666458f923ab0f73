// Callers as rows of the database.
import { asBigInt, asText, optional } from '#kit/db/values.js';
import { AccountLimit, type Caller, CallerCertificate } from '#proto/auth/v1/callers.js';
import type { Row } from '../store/rows.js';

/** The columns of a caller that `toCaller` reads. */
export const callerColumns = [
  'name',
  'identity',
  'grants',
  'account_ids',
  'certificates',
  'created_at_ms',
  'rotated_at_ms',
  'revoked_at_ms',
  'last_seen_at_ms',
  'change_number',
] as const;

/** Returns the caller in a row. */
export function toCaller(row: Row): Caller {
  const accountIds = optional(row['account_ids'], asText);
  return {
    name: asText(row['name']),
    identity: asText(row['identity']),
    grants: JSON.parse(asText(row['grants'])) as string[],
    accountLimit: accountIds === undefined ? undefined : AccountLimit.fromPartial({ accountIds: JSON.parse(accountIds) as string[] }),
    certificates: (JSON.parse(asText(row['certificates'])) as StoredCertificate[]).map(({ sha256, expiresAtMs, validUntilMs }) =>
      CallerCertificate.fromPartial({
        sha256: Buffer.from(sha256, 'hex'),
        expiresAtMs: BigInt(expiresAtMs),
        validUntilMs: validUntilMs === undefined ? undefined : BigInt(validUntilMs),
      }),
    ),
    createdAtMs: asBigInt(row['created_at_ms']),
    rotatedAtMs: optional(row['rotated_at_ms'], asBigInt),
    revokedAtMs: optional(row['revoked_at_ms'], asBigInt),
    lastSeenAtMs: optional(row['last_seen_at_ms'], asBigInt),
    version: asBigInt(row['change_number']),
  };
}

interface StoredCertificate {
  readonly sha256: string;
  readonly expiresAtMs: number;
  readonly validUntilMs?: number;
}

/** Returns the row of a caller whose latest change has this number. */
export function toRow(caller: Caller, changeNumber: number): Row {
  const certificates: StoredCertificate[] = caller.certificates.map(({ sha256, expiresAtMs, validUntilMs }) => ({
    sha256: Buffer.from(sha256).toString('hex'),
    expiresAtMs: Number(expiresAtMs),
    ...(validUntilMs === undefined ? {} : { validUntilMs: Number(validUntilMs) }),
  }));
  return {
    name: caller.name,
    identity: caller.identity,
    grants: JSON.stringify(caller.grants),
    account_ids: caller.accountLimit === undefined ? null : JSON.stringify(caller.accountLimit.accountIds),
    certificates: JSON.stringify(certificates),
    created_at_ms: caller.createdAtMs,
    rotated_at_ms: caller.rotatedAtMs ?? null,
    revoked_at_ms: caller.revokedAtMs ?? null,
    last_seen_at_ms: caller.lastSeenAtMs ?? null,
    change_number: changeNumber,
  };
}
