// UpdateKey: renames, restricts, limits, moves, disables or enables a key.
import { isDeepStrictEqual } from 'node:util';
import { changedFields } from '#kit/audit/audit-event.js';
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { type Key, KeyState, type UpdateKeyRequest, type UpdateKeyResponse } from '#proto/auth/v1/auth.js';
import { formatUsd } from '#rules/money/money.js';
import type { RpcDeps } from '../deps.js';
import { BudgetScope } from '#proto/budget/v1/budget.js';
import { assertKeyBudgets, budgetWords, changedBudgets, checkedKeyBudgets } from '../requests/budgets.js';
import {
  checkedAddresses,
  checkedExpiry,
  checkedLifetimeLimit,
  checkedModels,
  checkedName,
  invalidField,
  projectIdBytes,
} from '../requests/fields.js';
import { found } from '../requests/found.js';
import { assertMayIn, ownKey } from '../requests/own-key.js';
import { defaultProjectId } from '#rules/default-project.js';
import { assertOpenProject } from '../requests/own-project.js';
import { checkedRateLimits, rateLimitWords } from '../requests/rate-limits.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';

const fields = [
  'name',
  'models',
  'lifetime_limit_nano_usd',
  'expires_at_ms',
  'state',
  'rate_limits',
  'project_id',
  'budgets',
  'allowed_addresses',
] as const;

/** Changes the fields of the mask. Raises invalid_request, not_found, and failed_precondition for a revoked key and a deleted project. */
export async function updateKey(request: UpdateKeyRequest, context: CallContext, deps: RpcDeps): Promise<UpdateKeyResponse> {
  const own = ownKey(request, context, 'developer');
  const nowMs = deps.clock.nowMs();
  const wanted = wantedFields(request, nowMs);
  const budgets = request.updateMask?.includes('budgets') === true ? checkedKeyBudgets(request.budgets) : undefined;

  const change = (before: Key): Key => {
    own.check(before);
    if (before.state === KeyState.KEY_STATE_REVOKED) {
      throw fault('key_unchangeable', {});
    }
    const owner = { scope: BudgetScope.BUDGET_SCOPE_KEY, scopeId: before.id };
    const after: Key = {
      ...before,
      ...wanted,
      budgets: budgets === undefined ? before.budgets : changedBudgets(before.budgets, budgets, owner, nowMs),
    };
    assertKeyBudgets(after);
    return isDeepStrictEqual(after, before) ? before : after;
  };
  const changed = await deps.keys.change(
    own.id,
    change,
    (tx, before, after) =>
      deps.audit.append(tx, context, {
        action: 'key.update',
        accountId: after.accountId,
        targetId: after.id,
        detail: { name: after.name, ...changedFields(auditDetail(before), auditDetail(after)) },
      }),
    (project) => {
      assertOpenProject(project, request.accountId);
      assertMayIn(project!.id, request.accountId, context, 'developer');
    },
  );
  const key = found(changed, 'key');
  deps.feed.wake();
  deps.log.info({ key_id: key.id, version: key.version.toString() }, 'key updated');
  return { key };
}

function auditDetail({
  name,
  models,
  lifetimeLimitNanoUsd,
  expiresAtMs,
  state,
  rateLimits,
  projectId,
  budgets,
  allowedAddresses,
}: Key): object {
  return {
    name,
    models: models?.allModels === true ? 'all' : models?.modelIds,
    lifetime_limit_usd: lifetimeLimitNanoUsd === undefined ? null : formatUsd(lifetimeLimitNanoUsd),
    expires_at: expiresAtMs === undefined ? null : new Date(Number(expiresAtMs)).toISOString(),
    state: state === KeyState.KEY_STATE_DISABLED ? 'disabled' : 'active',
    rate_limits: rateLimitWords(rateLimits),
    project: projectId,
    budgets: budgetWords(budgets),
    allowed_addresses: allowedAddresses,
  };
}

/** Returns only the fields of the key that the request sets. */
function wantedFields(request: UpdateKeyRequest, nowMs: number): Partial<Key> {
  const mask = checkedUpdateMask(request.updateMask, fields);
  const { models = { allModels: true, modelIds: [] }, lifetimeLimitNanoUsd: limit, expiresAtMs, state } = request;
  const wanted: Partial<Key> = {};
  if (mask.has('name')) wanted.name = checkedName(request.name);
  if (mask.has('models')) wanted.models = checkedModels(models);
  if (mask.has('lifetime_limit_nano_usd')) wanted.lifetimeLimitNanoUsd = limit === undefined ? undefined : checkedLifetimeLimit(limit);
  if (mask.has('expires_at_ms')) wanted.expiresAtMs = expiresAtMs === undefined ? undefined : checkedExpiry(expiresAtMs, nowMs);
  if (mask.has('state')) {
    if (state !== KeyState.KEY_STATE_ACTIVE && state !== KeyState.KEY_STATE_DISABLED)
      throw invalidField('state', 'state must be ACTIVE or DISABLED; use RevokeKey to revoke.');
    wanted.state = state;
  }
  if (mask.has('project_id')) {
    wanted.projectId = request.projectId || defaultProjectId(request.accountId);
    projectIdBytes(wanted.projectId);
  }
  if (mask.has('rate_limits')) wanted.rateLimits = checkedRateLimits(request.rateLimits);
  if (mask.has('allowed_addresses')) wanted.allowedAddresses = checkedAddresses(request.allowedAddresses);
  return wanted;
}
