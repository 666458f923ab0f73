// Who may call the ledger.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';

/** The callers of each RPC beside the operator, who may call all. Only metering charges. The gateway credits and debits for the operators who are
 * signed in to its console, and what a payment provider says was paid. */
export const ledgerPolicy: PeerPolicy<keyof LedgerService> = {
  hold: ['gateway'],
  checkpoint: ['metering'],
  settle: ['metering'],
  release: ['gateway', 'metering'],
  expireHolds: ['ledger'],
  deposit: ['gateway'],
  adjust: ['gateway'],
  getBalance: ['gateway'],
  listBalances: ['gateway'],
  listKeySpend: ['gateway'],
  getHold: ['gateway', 'metering'],
  listOpenHolds: ['gateway'],
  listEntries: ['gateway'],
  listStatements: ['gateway'],
  getStatement: ['gateway'],
  getEntry: ['gateway'],
  findEntry: ['gateway'],
  // The gateway asks for operators alone.
  createRedemptionCodes: ['gateway'],
  listRedemptionCodes: ['gateway'],
  voidRedemptionCodes: ['gateway'],
  redeemCode: ['gateway'],
  refund: ['gateway'],
  verify: ['gateway', 'metering'],
  getHolds: ['metering'],
  listHolds: ['metering'],
  listJournal: [],
  // Each operation on it is admitted by the line of its own name.
  apply: ['gateway', 'metering'],
  getHealth: ['gateway'],
};
