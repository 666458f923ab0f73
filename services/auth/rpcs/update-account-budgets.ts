// UpdateAccountBudgets: changes the budgets and the time zone of an account.
import { isDeepStrictEqual } from 'node:util';
import type { CallContext } from '#client/call-context.js';
import type { Account, UpdateAccountBudgetsRequest, UpdateAccountBudgetsResponse } from '#proto/auth/v1/auth.js';
import { BudgetScope } from '#proto/budget/v1/budget.js';
import type { RpcDeps } from '../deps.js';
import { budgetWords, changedBudgets, checkedBudgets } from '../requests/budgets.js';
import { changeAccount } from '../requests/change-account.js';
import { accountIdBytes } from '../requests/fields.js';
import { checkedTimeZone } from '../requests/time-zone.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';

const fields = ['budgets', 'time_zone'] as const;

/** Changes the fields of the mask. Raises invalid_request and not_found. */
export async function updateAccountBudgets(
  request: UpdateAccountBudgetsRequest,
  context: CallContext,
  deps: RpcDeps,
): Promise<UpdateAccountBudgetsResponse> {
  const id = accountIdBytes(request.accountId);
  const mask = checkedUpdateMask(request.updateMask, fields);
  const budgets = mask.has('budgets') ? checkedBudgets(request.budgets) : undefined;
  const timeZone = mask.has('time_zone') ? checkedTimeZone(request.timeZone) : undefined;

  const change = (before: Account): Account => {
    const owner = { scope: BudgetScope.BUDGET_SCOPE_ACCOUNT, scopeId: before.id };
    const after: Account = {
      ...before,
      timeZone: timeZone ?? before.timeZone,
      budgets: budgets === undefined ? before.budgets : changedBudgets(before.budgets, budgets, owner, deps.clock.nowMs()),
    };
    return isDeepStrictEqual(after, before) ? before : after;
  };
  return changeAccount(id, change, auditDetail, 'account budgets', context, deps);
}

function auditDetail({ budgets, timeZone }: Account): object {
  return { budgets: budgetWords(budgets), time_zone: timeZone };
}
