// ListBudgetSpend: what budgets have spent and hold in their current period.
import type { CallContext } from '#client/call-context.js';
import type { ListBudgetSpendRequest, ListBudgetSpendResponse } from '#proto/ledger/v1/ledger.js';
import { limitAvailableNanoUsd } from '../books/buckets.js';
import { periodBounds } from '../budgets/calendar.js';
import { bucketsOf } from '../budgets/path.js';
import type { RpcDeps } from '../deps.js';
import { checkedId, invalidField } from '../requests/fields.js';

const budgetsMax = 1000;

/** Returns the budgets in the requested order, with zero spend for those without calls in the period. Raises invalid_request. */
export async function listBudgetSpend(
  request: ListBudgetSpendRequest,
  _context: CallContext,
  { reads, clock }: RpcDeps,
): Promise<ListBudgetSpendResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  if (request.budgets.length > budgetsMax) throw invalidField('budgets', `at most ${budgetsMax}`);
  const wanted = bucketsOf(request.budgets, request.timeZone, clock.nowMs());
  const buckets = await reads.budgets(
    accountId,
    wanted.map(({ scopeId }) => scopeId),
  );
  return {
    budgets: wanted.map(({ scopeId, budgetId, period, timeZone, start, limitNanoUsd }) => {
      const { spentNanoUsd = 0n, heldNanoUsd = 0n } = buckets.get(scopeId) ?? {};
      const { fromMs = 0, untilMs = 0 } = periodBounds(period, timeZone, start) ?? {};
      const leftNanoUsd = limitAvailableNanoUsd({ limitNanoUsd, spentNanoUsd, heldNanoUsd }) ?? 0n;
      return { budgetId, fromMs: BigInt(fromMs), untilMs: BigInt(untilMs), spentNanoUsd, heldNanoUsd, leftNanoUsd };
    }),
  };
}
