// VerifyAuditLog: verifies that the audit log has not been changed.
import { fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import type { AuditRestore, VerifyAuditLogRequest, VerifyAuditLogResponse } from '#proto/auth/v1/users.js';
import { auditHash, chainStart } from '../audit/audit-hash.js';
import { restoreOf } from '../audit/restores.js';
import type { UserDeps } from '../deps.js';

/** Entries read at a time: bounds how long SQLite occupies the process. */
const entriesPageSize = 200;
const hashBytes = 32;

/** Stops early when the caller disconnects. Raises invalid_request. */
export async function verifyAuditLog(
  request: VerifyAuditLogRequest,
  context: CallContext,
  { audit, log }: UserDeps,
): Promise<VerifyAuditLogResponse> {
  const { number: seenNumber, hash: seenHash } = request;
  if (seenNumber < 0n) throw fieldFault('number', 'at_least', { min: 0 });
  if (seenNumber > 0n && seenHash.length !== hashBytes) throw fieldFault('hash', 'hash');
  // Read first: entries that are added in the meantime come after it.
  const end = await audit.chainEnd();
  let number = 0n;
  let hash: Buffer = chainStart;
  let seen = seenNumber === 0n;
  let restore: AuditRestore | undefined;
  const answer = (fault: string, explainedBy?: AuditRestore): VerifyAuditLogResponse => {
    if (fault !== '' && explainedBy === undefined) log.error({ number: String(number), fault }, 'the audit log has been changed');
    else if (fault !== '')
      log.warn({ number: String(number), fault }, 'the audit log differs from a recorded entry, which a restore may explain');
    return { eventsChecked: number, lastNumber: end.number, lastHash: end.hash, fault, restore: explainedBy };
  };
  const pacer = new Pacer(context.signal);
  while (number < end.number) {
    await pacer.step();
    const entries = await audit.chainedAfter(number, entriesPageSize);
    if (entries.length === 0) break;
    for (const entry of entries) {
      if (entry.number !== number + 1n) return answer(`Entry ${number + 1n} is missing.`);
      hash = auditHash(hash, entry);
      if (!hash.equals(entry.hash)) return answer(`Entry ${entry.number} (${entry.id}) or an entry before it has been changed.`);
      number = entry.number;
      const found = restoreOf(entry);
      if (found !== undefined && (seenNumber === 0n || found.lastNumber < seenNumber)) restore = found;
      if (number === seenNumber) {
        if (!hash.equals(seenHash)) return answer(`The hash of entry ${number} differs from the one that you recorded.`, restore);
        seen = true;
      }
      if (number === end.number) break;
    }
  }
  if (number < end.number) return answer(`Entry ${number + 1n} is missing.`);
  if (!hash.equals(end.hash)) return answer('The hash at the end of the chain differs from that of the last entry.');
  return answer(seen ? '' : `Entry ${seenNumber}, whose hash you recorded, is missing.`, restore);
}
