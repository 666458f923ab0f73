// CreateRedemptionCodes: creates codes, whose secrets are returned once.
import { fault, fieldFault } from '#client/errors/fault.js';
import { isDuplicate } from '#kit/db/errors.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { type CreateRedemptionCodesRequest, type CreateRedemptionCodesResponse, RedemptionCodeState } from '#proto/ledger/v1/ledger.js';
import { formatUsd } from '#rules/money/money.js';
import { hashOfCode, mintCode, readCode } from '../codes/code-secret.js';
import { toCodeMessage } from '../codes/message.js';
import type { RpcDeps } from '../deps.js';
import { checkedAmount, checkedCount, checkedId, checkedText } from '../requests/fields.js';
import type { CodeRecord } from '../store/codes.js';

const codesOfBatchMax = 500;
const noteCharactersMax = 200;

/** Raises invalid_request, and idempotency_mismatch when the batch was created with different parameters. */
export async function createRedemptionCodes(
  request: CreateRedemptionCodesRequest,
  context: CallContext,
  { auditLog, codes, clock }: RpcDeps,
): Promise<CreateRedemptionCodesResponse> {
  const batchId = checkedId('batch_id', 'batch', request.batchId);
  const amountNanoUsd = checkedAmount('amount_nano_usd', request.amountNanoUsd, 1n);
  const count = checkedCount('count', request.count, { min: 1, max: codesOfBatchMax });
  const note = checkedText('note', request.note, noteCharactersMax);
  const createdBy = checkedText('created_by', request.createdBy, noteCharactersMax);
  const nowMs = clock.nowMs();
  const expiresAtMs = request.expiresAtMs === undefined ? undefined : Number(request.expiresAtMs);
  const before = await codes.ofBatch(batchId);
  if (before.length > 0) return replay(before, { amountNanoUsd, count, note, expiresAtMs });
  if (expiresAtMs !== undefined && (expiresAtMs <= nowMs || expiresAtMs >= 2 ** 48)) throw fieldFault('expires_at_ms', 'future');
  const made = Array.from({ length: count }, (_, batchNumber) => {
    const secret = mintCode();
    const record: CodeRecord = {
      hash: hashOfCode(readCode(secret)!),
      id: newId('code', nowMs),
      batchId,
      batchNumber,
      lastFour: secret.slice(-4),
      amountNanoUsd,
      expiresAtMs,
      note,
      createdBy,
      createdAtMs: nowMs,
      state: RedemptionCodeState.REDEMPTION_CODE_STATE_OPEN,
      accountId: undefined,
      resultSeq: 0n,
      endedAtMs: undefined,
    };
    return { secret, record };
  });
  const expiresAt = expiresAtMs === undefined ? null : new Date(expiresAtMs).toISOString();
  const detail = { amount_usd: formatUsd(amountNanoUsd), count, expires_at: expiresAt, note };
  const event = { action: 'code.create', targetId: batchId, detail };
  try {
    await codes.add(
      made.map(({ record }) => record),
      (tx) => auditLog.appendRecords(tx, [auditLog.record(context, event)]),
    );
    auditLog.wake();
  } catch (error) {
    if (isDuplicate(error)) return replay(await codes.ofBatch(batchId), { amountNanoUsd, count, note, expiresAtMs });
    throw error;
  }
  return { codes: made.map(({ record }) => toCodeMessage(record)), secrets: made.map(({ secret }) => secret), replayed: false };
}

function replay(
  before: readonly CodeRecord[],
  requested: Pick<CodeRecord, 'amountNanoUsd' | 'note' | 'expiresAtMs'> & { count: number },
): CreateRedemptionCodesResponse {
  const [first] = before;
  const isSame =
    first !== undefined &&
    first.amountNanoUsd === requested.amountNanoUsd &&
    first.note === requested.note &&
    first.expiresAtMs === requested.expiresAtMs &&
    before.length === requested.count;
  if (!isSame) throw fault('batch_mismatch', {}, { details: { field: 'batch_id' } });
  return { codes: before.map(toCodeMessage), secrets: [], replayed: true };
}
