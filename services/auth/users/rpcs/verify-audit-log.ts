// VerifyAuditLog: whether the audit log is as it was written.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import type { VerifyAuditLogRequest, VerifyAuditLogResponse } from '#proto/auth/v1/users.js';
import { auditHash, chainStart } from '../audit-hash.js';
import type { UserDeps } from '../deps.js';

const entriesPageSize = 1000;
const hashBytes = 32;

/** Ends early when the caller leaves. Raises invalid_request. */
export async function verifyAuditLog(
  request: VerifyAuditLogRequest,
  context: CallContext,
  { audit, log }: UserDeps,
): Promise<VerifyAuditLogResponse> {
  const { number: seenNumber, hash: seenHash } = request;
  if (seenNumber < 0n) throw fieldFault('number', 'at_least', { min: 0 });
  if (seenNumber > 0n && seenHash.length !== hashBytes) throw fieldFault('hash', 'hash');
  // Read first: what is added meanwhile is behind it.
  const end = await audit.chainEnd();
  let number = 0n;
  let hash: Buffer = chainStart;
  let seen = seenNumber === 0n;
  const answer = (fault: string): VerifyAuditLogResponse => {
    if (fault !== '') log.error({ number: String(number), fault }, 'the audit log is not as it was written');
    return { eventsChecked: number, lastNumber: end.number, lastHash: end.hash, fault };
  };
  while (number < end.number) {
    context.signal.throwIfAborted();
    const entries = await audit.chainedAfter(number, entriesPageSize);
    if (entries.length === 0) break;
    for (const entry of entries) {
      if (entry.number !== number + 1n) return answer(`Entry ${number + 1n} is missing.`);
      hash = auditHash(hash, entry);
      if (!hash.equals(entry.hash)) return answer(`Entry ${entry.number} (${entry.id}) is not as it was written, or one before it is not.`);
      number = entry.number;
      if (number === seenNumber) {
        if (!hash.equals(seenHash)) return answer(`Entry ${number} has another hash than it had when it was seen.`);
        seen = true;
      }
      if (number === end.number) break;
    }
  }
  if (number < end.number) return answer(`Entry ${number + 1n} is missing.`);
  if (!hash.equals(end.hash)) return answer('The end of the chain has another hash than the last entry.');
  return answer(seen ? '' : `Entry ${seenNumber}, which was seen, is missing.`);
}
