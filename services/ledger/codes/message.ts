// A redemption code as a message of the contract.
import type { RedemptionCode } from '#proto/ledger/v1/ledger.js';
import { entryId } from '../books/journal.js';
import type { CodeRecord } from '../store/codes.js';

/** Returns a code as operators see it. */
export function toCodeMessage(code: CodeRecord): RedemptionCode {
  const { id, batchId, lastFour, amountNanoUsd, note, state, createdBy, accountId = '', resultSeq } = code;
  const instant = (ms: number | undefined): bigint | undefined => (ms === undefined ? undefined : BigInt(ms));
  return {
    id,
    batchId,
    lastFour,
    amountNanoUsd,
    expiresAtMs: instant(code.expiresAtMs),
    note,
    state,
    createdBy,
    createdAtMs: BigInt(code.createdAtMs),
    accountId,
    entryId: resultSeq === 0n ? '' : entryId(accountId, resultSeq),
    endedAtMs: instant(code.endedAtMs),
  };
}
