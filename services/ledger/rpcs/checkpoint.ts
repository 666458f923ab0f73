// Checkpoint: records what open holds have cost so far.
import type { CallContext } from '#client/call-context.js';
import type { CheckpointRequest, CheckpointResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { performAll } from '../lane/perform.js';
import { invalidField } from '../requests/fields.js';
import { checkpointOperation } from '../requests/operations.js';

/** Ten times the calls that one gateway has open at most, so that one batch per second always suffices. */
const itemsMax = 10_000;

/** Raises invalid_request, and then has recorded nothing. After any other error some items may be recorded; all can be sent again. */
export async function checkpoint(request: CheckpointRequest, context: CallContext, deps: RpcDeps): Promise<CheckpointResponse> {
  if (request.items.length > itemsMax) throw invalidField('items', `at most ${itemsMax}`);
  const operations = request.items.map((item, index) => ({ index, operation: checkpointOperation(item, index) }));
  // Items of one account go together, so that each transaction locks as few accounts as possible.
  operations.sort((a, b) => (a.operation.accountId < b.operation.accountId ? -1 : Number(a.operation.accountId > b.operation.accountId)));
  const outcomes = await performAll(
    operations.map(({ operation }) => operation),
    context,
    deps,
  );
  const renewed = Array.from<boolean>({ length: operations.length });
  for (const [position, outcome] of outcomes.entries()) {
    if (outcome.status === 'rejected') throw outcome.reason;
    const { value } = outcome;
    renewed[operations[position]!.index] = value.refusal === undefined && value.reply.renewed;
  }
  return { renewed };
}
