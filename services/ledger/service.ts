// LedgerService, one line per RPC.
import { callContext } from '#kit/rpc/call-context.js';
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
  const rpcs = unaryRpcs(deps);
  const operations = decoratedOperations(rpcs, deps);
  return { ...rpcs, apply: (requests, context = unknownCaller) => apply(requests, context, operations, deps) };
}

function unaryRpcs(deps: RpcDeps): Omit<LedgerService, 'apply'> {
  return {
    hold: (request, context = unknownCaller) => hold(request, context, deps),
    checkpoint: (request, context = unknownCaller) => checkpoint(request, context, deps),
    settle: (request, context = unknownCaller) => settle(request, context, deps),
    release: (request, context = unknownCaller) => release(request, context, deps),
    expireHolds: (request, context = unknownCaller) => expireHolds(request, context, deps),
    deposit: (request, context = unknownCaller) => deposit(request, context, deps),
    adjust: (request, context = unknownCaller) => adjust(request, context, deps),
    getBalance: (request, context = unknownCaller) => getBalance(request, context, deps),
    listBalances: (request, context = unknownCaller) => listBalances(request, context, deps),
    listKeySpend: (request, context = unknownCaller) => listKeySpend(request, context, deps),
    getHealth: (request, context = unknownCaller) => getHealth(request, context, deps),
    getHold: (request, context = unknownCaller) => getHold(request, context, deps),
    listOpenHolds: (request, context = unknownCaller) => listOpenHolds(request, context, deps),
    listEntries: (request, context = unknownCaller) => listEntries(request, context, deps),
    findEntry: (request, context = unknownCaller) => findEntry(request, context, deps),
    verify: (request, context = unknownCaller) => verify(request, context, deps),
    refund: (request, context = unknownCaller) => refund(request, context, deps),
    getHolds: (request, context = unknownCaller) => getHolds(request, context, deps),
    listHolds: (request, context = unknownCaller) => listHolds(request, context, deps),
    listStatements: (request, context = unknownCaller) => listStatements(request, context, deps),
    getStatement: (request, context = unknownCaller) => getStatement(request, context, deps),
    getEntry: (request, context = unknownCaller) => getEntry(request, context, deps),
    createRedemptionCodes: (request, context = unknownCaller) => createRedemptionCodes(request, context, deps),
    listRedemptionCodes: (request, context = unknownCaller) => listRedemptionCodes(request, context, deps),
    voidRedemptionCodes: (request, context = unknownCaller) => voidRedemptionCodes(request, context, deps),
    redeemCode: (request, context = unknownCaller) => redeemCode(request, context, deps),
    listJournal: (request, context = unknownCaller) => listJournal(request, context, deps),
  };
}

/** The generated interface leaves the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });
