// LedgerService: its RPCs, bound to what they need.
import { bindRpcs } from '#kit/rpc/bind-rpcs.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from './deps.js';
import { adjust } from './rpcs/adjust.js';
import { apply, decoratedOperations } from './rpcs/apply.js';
import { checkpoint } from './rpcs/checkpoint.js';
import { deposit } from './rpcs/deposit.js';
import { expireHolds } from './rpcs/expire-holds.js';
import { findEntry } from './rpcs/find-entry.js';
import { getBalance } from './rpcs/get-balance.js';
import { getHealth } from './rpcs/get-health.js';
import { getHold } from './rpcs/get-hold.js';
import { getHolds } from './rpcs/get-holds.js';
import { hold } from './rpcs/hold.js';
import { listBalances } from './rpcs/list-balances.js';
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
import { settle } from './rpcs/settle.js';
import { verify } from './rpcs/verify.js';

/** The implementation of the contract over these dependencies. */
export function ledgerService(deps: RpcDeps): LedgerService {
  const rpcs = bindRpcs<Omit<LedgerService, 'apply'>, RpcDeps>(
    {
      hold,
      checkpoint,
      settle,
      release,
      expireHolds,
      deposit,
      adjust,
      getBalance,
      listBalances,
      listKeySpend,
      getHealth,
      getHold,
      listOpenHolds,
      listEntries,
      findEntry,
      verify,
      refund,
      getHolds,
      listHolds,
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
  return { ...rpcs, ...bindRpcs<Pick<LedgerService, 'apply'>, typeof streamDeps>({ apply }, streamDeps) };
}
