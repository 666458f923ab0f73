// What is spent of budgets, from the ledger.
import type { Budget } from '#proto/budget/v1/budget.js';
import type { BudgetSpend } from '#proto/ledger/v1/ledger.js';
import type { OperationDeps } from './deps.js';
import type { Call } from './table/operation.js';
import { unlessUnavailable } from './unavailable.js';

/** Returns the spend of budgets of an account; undefined while the ledger is unavailable. */
export async function spendOf(
  budgets: readonly Budget[],
  { accountId, context }: Pick<Call, 'accountId' | 'context'>,
  { peers: { auth, ledger } }: Pick<OperationDeps, 'peers'>,
): Promise<readonly BudgetSpend[] | undefined> {
  if (budgets.length === 0) return [];
  const { account } = await auth.getAccount({ accountId }, context());
  const request = { accountId, budgets: [...budgets], timeZone: account!.timeZone };
  return (await unlessUnavailable(ledger.listBudgetSpend(request, context('brief'))))?.budgets;
}
