// CreateKey: creates a key with a new secret, of which only the hash is stored.
import type { Clock } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { CreateKeyRequest, type CreateKeyResponse, type Key, KeyState, type Project } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { Budget, BudgetScope } from '#proto/budget/v1/budget.js';
import { assertKeyBudgets, budgetWords, changedBudgets, checkedKeyBudgets } from '../requests/budgets.js';
import {
  accountIdBytes,
  checkedAddresses,
  checkedExpiry,
  checkedLifetimeLimit,
  checkedModels,
  checkedName,
  projectIdBytes,
} from '../requests/fields.js';
import { found } from '../requests/found.js';
import { defaultProjectId } from '#rules/default-project.js';
import { hashSecret, lastFour, mintSecret } from '#rules/keys/key-secrets.js';
import { assertOpenProject } from '../requests/own-project.js';
import { checkedRateLimits, rateLimitWords } from '../requests/rate-limits.js';
import { firstOrRepeat, repeatableCall } from '../requests/repeat.js';

/** Creates a key; a repeat returns the first one, without its secret. Raises invalid_request, not_found, failed_precondition and idempotency_mismatch. */
export async function createKey(request: CreateKeyRequest, context: CallContext, deps: RpcDeps): Promise<CreateKeyResponse> {
  const { accounts, audit, clock, feed, idempotency, keys, log } = deps;
  const accountId = accountIdBytes(request.accountId);
  const checked = checkedRequest(request);
  const call = repeatableCall('create_key', request.idempotencyKey, CreateKeyRequest.encode(checked).finish());

  const create = async (): Promise<CreateKeyResponse | undefined> => {
    found(await accounts.find(accountId), 'account');
    const secret = mintSecret();
    const key = newKey(checked, secret, context.actor?.userId ?? '', clock);
    const detail = {
      name: key.name,
      ...(request.projectId === '' ? {} : { project: key.projectId }),
      ...(key.rateLimits === undefined ? {} : { rate_limits: rateLimitWords(key.rateLimits) }),
      ...(key.budgets.length === 0 ? {} : { budgets: budgetWords(key.budgets) }),
      ...(key.allowedAddresses.length === 0 ? {} : { allowed_addresses: key.allowedAddresses }),
    };
    const event = { action: 'key.create', accountId: key.accountId, targetId: key.id, detail };
    const checkProject = (project: Project | undefined): void => assertOpenProject(project, key.accountId);
    const isAdded = await keys.add({ key, secretHash: hashSecret(secret) }, call, checkProject, (tx) => audit.append(tx, context, event));
    if (!isAdded) return undefined;
    feed.wake();
    log.info({ key_id: key.id, account_id: key.accountId }, 'key created');
    return { key, secret };
  };
  return firstOrRepeat(call, idempotency, create, async (id) => ({ key: found(await keys.find(id), 'key'), secret: '' }));
}

/** Returns the request in a canonical form, without its idempotency key, so that equivalent requests are equal. */
function checkedRequest(request: CreateKeyRequest): CreateKeyRequest {
  if (request.projectId !== '') projectIdBytes(request.projectId);
  const budgets = checkedKeyBudgets(request.budgets);
  assertKeyBudgets({ ...request, budgets });
  return {
    accountId: request.accountId,
    name: checkedName(request.name),
    models: request.models === undefined ? { allModels: true, modelIds: [] } : checkedModels(request.models),
    lifetimeLimitNanoUsd: request.lifetimeLimitNanoUsd === undefined ? undefined : checkedLifetimeLimit(request.lifetimeLimitNanoUsd),
    expiresAtMs: request.expiresAtMs,
    idempotencyKey: '',
    rateLimits: checkedRateLimits(request.rateLimits),
    projectId: request.projectId || defaultProjectId(request.accountId),
    budgets: budgets.map((setting) => Budget.fromPartial(setting)),
    allowedAddresses: checkedAddresses(request.allowedAddresses),
  };
}

function newKey(request: CreateKeyRequest, secret: string, createdByUserId: string, clock: Clock): Key {
  const nowMs = clock.nowMs();
  const id = newId('key', nowMs);
  return {
    id,
    accountId: request.accountId,
    projectId: request.projectId,
    name: request.name,
    lastFour: lastFour(secret),
    models: request.models,
    lifetimeLimitNanoUsd: request.lifetimeLimitNanoUsd,
    // Checked only when a key is created, since a repeat must return the first key even after its expiry.
    expiresAtMs: request.expiresAtMs === undefined ? undefined : checkedExpiry(request.expiresAtMs, nowMs),
    state: KeyState.KEY_STATE_ACTIVE,
    createdAtMs: BigInt(nowMs),
    revokedAtMs: undefined,
    version: 1n,
    secretVersion: 1n,
    previousSecretsExpireAtMs: undefined,
    rateLimits: request.rateLimits,
    budgets: changedBudgets([], request.budgets, { scope: BudgetScope.BUDGET_SCOPE_KEY, scopeId: id }, nowMs),
    allowedAddresses: request.allowedAddresses,
    createdByUserId,
  };
}
