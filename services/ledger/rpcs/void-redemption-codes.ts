// VoidRedemptionCodes: voids unredeemed codes.
import { fault } from '#client/errors/fault.js';
import { isId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import {
  RedemptionCodeState as State,
  type VoidRedemptionCodesRequest,
  type VoidRedemptionCodesResponse,
} from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedId } from '../requests/fields.js';

/** A repeat changes nothing. Raises not_found, invalid_request, and failed_precondition for a code that is redeemed. */
export async function voidRedemptionCodes(
  { id }: VoidRedemptionCodesRequest,
  context: CallContext,
  { auditLog, codes, clock }: RpcDeps,
): Promise<VoidRedemptionCodesResponse> {
  const nowMs = clock.nowMs();
  const audit = (tx: Parameters<typeof auditLog.append>[0], voided: number): Promise<void> =>
    auditLog.append(tx, context, { action: 'code.void', targetId: id, detail: { voided } });
  if (isId('batch', id)) {
    const voided = await codes.void({ batchId: id }, nowMs, audit);
    if (voided === 0 && (await codes.ofBatch(id)).length === 0) throw fault('no_such_id', { what: 'batch' });
    return { voided };
  }
  const codeId = checkedId('id', 'code', id);
  const voided = await codes.void({ id: codeId }, nowMs, audit);
  if (voided === 1) return { voided };
  const code = await codes.byId(codeId);
  if (code === undefined) throw fault('no_such_id', { what: 'code' });
  if (code.state === State.REDEMPTION_CODE_STATE_VOID) return { voided: 0 };
  throw fault('code_redeemed', {});
}
