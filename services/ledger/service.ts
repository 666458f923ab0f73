// LedgerService: its RPCs, bound to their dependencies.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { CallContext } from '#client/call-context.js';
import type { RpcDeps } from './deps.js';
import { adjust } from './rpcs/adjust.js';
import { batch, decoratedOperations } from './rpcs/batch.js';
import { checkpoint } from './rpcs/checkpoint.js';
import { deposit } from './rpcs/deposit.js';
import { expireHolds } from './rpcs/expire-holds.js';
import { getEntryByIdempotencyKey } from './rpcs/get-entry-by-idempotency-key.js';
import { getBalance } from './rpcs/get-balance.js';
import { getHealth } from './rpcs/get-health.js';
import { getHold } from './rpcs/get-hold.js';
import { batchGetHolds } from './rpcs/batch-get-holds.js';
import { hold } from './rpcs/hold.js';
import { batchGetBalances } from './rpcs/batch-get-balances.js';
import { listBudgetSpend } from './rpcs/list-budget-spend.js';
import { listEntries } from './rpcs/list-entries.js';
import { listHolds } from './rpcs/list-holds.js';
import { listJournal } from './rpcs/list-journal.js';
import { listKeySpend } from './rpcs/list-key-spend.js';
import { listOpenHolds } from './rpcs/list-open-holds.js';
import { listStatements } from './rpcs/list-statements.js';
import { getStatement } from './rpcs/get-statement.js';
import { getEntry } from './rpcs/get-entry.js';
import { createRedemptionCodes } from './rpcs/create-redemption-codes.js';
import { listRedemptionCodes } from './rpcs/list-redemption-codes.js';
import { voidRedemptionCodes } from './rpcs/void-redemption-codes.js';
import { redeemCode } from './rpcs/redeem-code.js';
import { refund } from './rpcs/refund.js';
import { release } from './rpcs/release.js';
import { reverse } from './rpcs/reverse.js';
import { settle } from './rpcs/settle.js';
import { verify } from './rpcs/verify.js';

/** Writes the holds that are not written yet, for an RPC that reads holds or what they set aside. */
function afterWriting<Request, Response>(
  rpc: (request: Request, context: CallContext, deps: RpcDeps) => Promise<Response>,
): (request: Request, context: CallContext, deps: RpcDeps) => Promise<Response> {
  return async (request, context, deps) => {
    await deps.writeHolds();
    return rpc(request, context, deps);
  };
}

/** Returns the implementation of the contract over these dependencies. */
export function ledgerService(deps: RpcDeps): LedgerService {
  const rpcs = bindRpcs<Omit<LedgerService, 'batch'>, RpcDeps>(
    {
      hold,
      checkpoint,
      settle,
      release,
      expireHolds,
      deposit,
      adjust,
      getBalance: afterWriting(getBalance),
      batchGetBalances: afterWriting(batchGetBalances),
      listKeySpend: afterWriting(listKeySpend),
      listBudgetSpend: afterWriting(listBudgetSpend),
      getHealth,
      getHold: afterWriting(getHold),
      listOpenHolds: afterWriting(listOpenHolds),
      listEntries,
      getEntryByIdempotencyKey,
      verify: afterWriting(verify),
      refund,
      reverse,
      batchGetHolds: afterWriting(batchGetHolds),
      listHolds: afterWriting(listHolds),
      listStatements,
      getStatement,
      getEntry,
      createRedemptionCodes,
      listRedemptionCodes,
      voidRedemptionCodes,
      redeemCode,
      listJournal,
    },
    deps,
  );
  const streamDeps = { ...deps, operations: decoratedOperations(rpcs, deps) };
  return { ...rpcs, ...bindRpcs<Pick<LedgerService, 'batch'>, typeof streamDeps>({ batch }, streamDeps) };
}
