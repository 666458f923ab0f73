// API keys of an account, and calls with them from the playground.
import { fieldFault } from '#client/errors/fault.js';
import { type Account, CreateKeyRequest, type Key, KeyState, UpdateKeyRequest } from '#proto/auth/v1/auth.js';
import { limitNanoUsdMax } from '#rules/money/money.js';
import { ChatCompletion } from '../../formats/chat-completions/answer-schema.js';
import { ChatCompletionRequest } from '../../formats/chat-completions/schema.js';
import { stateOf } from '../../http/request-state.js';
import { assertUsable } from '../../replicas/usable-key.js';
import { spendOf } from '../budget-spend.js';
import { updateMaskOf } from '../table/update-mask.js';
import type { OperationDeps } from '../deps.js';
import { keySearchOf, searchPage } from '../search/key-search.js';
import { budgetsOf } from '../render/budgets.js';
import { futureMs } from '../instants.js';
import { renderChangedKey, renderConsoleKey } from '../render/keys.js';
import { rateLimitsOf } from '../render/rate-limits.js';
import { nanoUsdOf, orNull } from '../render/values.js';
import { ApiKey, ChangedKey, CreateKey, KeyCreated, KeyList, KeyRotated, KeySearch, RotateKey, UpdateKey } from '../schemas/keys.js';
import { forwarded } from '../schemas/shapes.js';
import { assertMayChangeKeysOf } from '../session/access.js';
import { type Area, type Call, created, ok, operation } from '../table/operation.js';
import { unlessUnavailable } from '../unavailable.js';

const secretOnce = 'This is the only answer that contains the secret.';

export const keys: Area = {
  title: 'API keys',
  description: 'The platform keys of an account.',
  operations: [
    operation('GET', '/accounts/{account}/keys', {
      summary: 'List the keys, newest first. A page may be short or empty although more pages follow: only a null `next` marks the end.',
      who: 'see projects',
      scope: 'keys:read',
      query: KeySearch,
      paged: true,
      answers: [ok(KeyList)],
      handle: async (call, deps) => {
        const { accountId, query, page } = call;
        const { items, nextPageToken } = await searchPage(
          keySearchOf(query),
          page,
          async (pageSize, pageToken) => {
            const found = await deps.peers.auth.listKeys(
              { accountId, projectId: query.project ?? '', pageSize, pageToken, newestFirst: true },
              call.context(),
            );
            return { items: found.keys, nextPageToken: found.nextPageToken };
          },
          (found) => rendered(found, call, deps),
        );
        return { data: [...items], next: orNull(nextPageToken) };
      },
    }),
    operation('POST', '/accounts/{account}/keys', {
      summary: 'Create a key.',
      who: 'change keys',
      scope: 'keys:write',
      idempotency: 'A repeat creates no second key; its answer has no secret.',
      body: CreateKey,
      answers: [created(KeyCreated, secretOnce)],
      handle: async (call, deps) => {
        const { accountId, body, idempotencyKey } = call;
        // Read before the creation, after which nothing may fail: only this answer has the secret.
        const { account } = await deps.peers.auth.getAccount({ accountId }, call.context());
        const { key, secret } = await deps.peers.auth.createKey(
          CreateKeyRequest.fromPartial({
            accountId,
            name: body.name,
            projectId: body.project_id ?? '',
            budgets: budgetsOf(body.budgets ?? []),
            allowedAddresses: body.allowed_addresses ?? [],
            ...(body.models == null ? {} : { models: { modelIds: body.models } }),
            ...(body.limit_usd == null ? {} : { lifetimeLimitNanoUsd: limitNanoUsd(body.limit_usd) }),
            ...(body.expires_at == null
              ? {}
              : { expiresAtMs: futureMs('expires_at', body.expires_at, deps.clock.nowMs(), 'future_expiry') }),
            ...(body.rate_limits == null ? {} : { rateLimits: rateLimitsOf(body.rate_limits) }),
            idempotencyKey,
          }),
          call.context(),
        );
        if (secret === '') return { key: await renderedOne(key!, call, deps), secret: null };
        return { key: await renderedNew(key!, account!, call, deps), secret };
      },
    }),
    operation('GET', '/accounts/{account}/keys/{key}', {
      summary: 'Show a key.',
      who: 'see projects',
      scope: 'keys:read',
      answers: [ok(ApiKey)],
      handle: async (call, deps) => renderedOne(await ownKey(call, deps), call, deps),
    }),
    operation('PATCH', '/accounts/{account}/keys/{key}', {
      summary:
        'Change a key: absent fields are unchanged; null removes the limits, the budgets, the expiry or the restriction to models or addresses.',
      who: 'change keys',
      scope: 'keys:write',
      body: UpdateKey,
      answers: [ok(ChangedKey)],
      errors: { failed_precondition: 'The key is revoked.' },
      handle: async (call, deps) => {
        const { accountId, body } = call;
        const before = await ownKey(call, deps);
        const { key } = await deps.peers.auth.updateKey(
          UpdateKeyRequest.fromPartial({
            keyId: before.id,
            accountId,
            name: body.name ?? '',
            projectId: body.project_id ?? '',
            budgets: budgetsOf(body.budgets ?? []),
            allowedAddresses: body.allowed_addresses ?? [],
            models: body.models === null ? { allModels: true } : { modelIds: body.models ?? [] },
            ...(typeof body.limit_usd === 'string' ? { lifetimeLimitNanoUsd: limitNanoUsd(body.limit_usd) } : {}),
            ...(typeof body.expires_at === 'string'
              ? { expiresAtMs: futureMs('expires_at', body.expires_at, deps.clock.nowMs(), 'future_expiry') }
              : {}),
            ...(body.rate_limits == null ? {} : { rateLimits: rateLimitsOf(body.rate_limits) }),
            state: body.state === 'active' ? KeyState.KEY_STATE_ACTIVE : KeyState.KEY_STATE_DISABLED,
            updateMask: updateMaskOf(body, {
              name: 'name',
              models: 'models',
              limit_usd: 'lifetime_limit_nano_usd',
              expires_at: 'expires_at_ms',
              state: 'state',
              rate_limits: 'rate_limits',
              project_id: 'project_id',
              budgets: 'budgets',
              allowed_addresses: 'allowed_addresses',
            }),
          }),
          call.context(),
        );
        return renderedChange(key!, call, deps);
      },
    }),
    operation('POST', '/accounts/{account}/keys/{key}/rotate', {
      summary: 'Rotate the secret of a key. The old one remains valid for `overlap_seconds`, 0 by default.',
      who: 'change keys',
      scope: 'keys:write',
      body: RotateKey,
      answers: [ok(KeyRotated, secretOnce)],
      errors: { failed_precondition: 'The key is revoked.' },
      handle: async (call, deps) => {
        const { accountId, body } = call;
        const { id: keyId } = await ownKey(call, deps);
        const overlapSeconds = body.overlap_seconds ?? 0;
        const { key, secret } = await deps.peers.auth.rotateKey({ keyId, accountId, overlapMs: overlapSeconds * 1000 }, call.context());
        return { key: await renderedChange(key!, call, deps), secret };
      },
    }),
    operation('POST', '/accounts/{account}/keys/{key}/revoke', {
      summary: 'Revoke a key permanently.',
      who: 'change keys',
      scope: 'keys:write',
      answers: [ok(ChangedKey)],
      handle: async (call, deps) => {
        const { accountId } = call;
        const { id: keyId } = await ownKey(call, deps);
        const { key } = await deps.peers.auth.revokeKey({ keyId, accountId }, call.context());
        return renderedChange(key!, call, deps);
      },
    }),
    operation('POST', '/accounts/{account}/keys/{key}/chat/completions', {
      summary: 'Call a model from the playground in the chat-completions format, charged to the key.',
      // Users who may change keys could also create a key and call with it.
      who: 'change keys',
      body: forwarded(ChatCompletionRequest),
      bodyIsForwarded: true,
      answers: [
        {
          ...ok(forwarded(ChatCompletion), 'The answer; with "stream": true as server-sent events.'),
          types: ['text/event-stream'],
        },
      ],
      errors: { key_disabled: 'Or any other error that a call with the key can get.' },
      handle: async (call, deps) => {
        const state = stateOf(call.ctx);
        state.endpoint = 'chat-completions';
        await noteKey(call, deps);
        state.renewKey = () => call.readmit(() => noteKey(call, deps));
        await deps.serveCall(call.ctx);
      },
    }),
  ],
};

/** Returns the key in the path. Raises not_found, also for keys of other accounts. */
async function ownKey({ accountId, params, context }: Call<'key'>, deps: OperationDeps): Promise<Key> {
  const { key } = await deps.peers.auth.getKey({ keyId: params.key, accountId }, context());
  return key!;
}

/** Returns the keys with the account's state, the spending in the ledger and the activity in metering. */
async function rendered(keysFound: readonly Key[], call: Call, deps: OperationDeps): Promise<ApiKey[]> {
  const { accountId, context } = call;
  if (keysFound.length === 0) return [];
  const keyIds = keysFound.map(({ id }) => id);
  const budgets = keysFound.flatMap((key) => key.budgets);
  const [{ account }, spend, activity, budgetSpend] = await Promise.all([
    deps.peers.auth.getAccount({ accountId }, context()),
    deps.peers.ledger.listKeySpend({ accountId, keyIds }, context()),
    deps.peers.metering.batchGetKeyActivity({ accountId, keyIds }, context()),
    spendOf(budgets, call, deps),
  ]);
  const nowMs = deps.clock.nowMs();
  return keysFound.map((key) =>
    renderConsoleKey({
      key,
      spend: spend.keys.find(({ keyId }) => keyId === key.id),
      activity: activity.keys.find(({ keyId }) => keyId === key.id),
      accountState: account!.state,
      budgetSpend,
      nowMs,
    }),
  );
}

/** Renders a key that was just created, which has spent nothing. */
async function renderedNew(key: Key, account: Account, call: Call, deps: OperationDeps): Promise<ApiKey> {
  const budgetSpend = await unlessUnavailable(spendOf(key.budgets, call, deps));
  return renderConsoleKey({
    key,
    spend: undefined,
    activity: undefined,
    accountState: account.state,
    budgetSpend,
    nowMs: deps.clock.nowMs(),
  });
}

/** Renders a key that was just changed, even if the ledger or metering is unavailable: an error would look as if the change had failed. */
async function renderedChange(key: Key, call: Call, deps: OperationDeps): Promise<ChangedKey> {
  const { accountId, context } = call;
  const keyIds = [key.id];
  const [{ account }, spend, activity, budgetSpend] = await Promise.all([
    deps.peers.auth.getAccount({ accountId }, context()),
    unlessUnavailable(deps.peers.ledger.listKeySpend({ accountId, keyIds }, context('brief'))),
    unlessUnavailable(deps.peers.metering.batchGetKeyActivity({ accountId, keyIds }, context('brief'))),
    spendOf(key.budgets, call, deps),
  ]);
  const standing = {
    key,
    spend: spend?.keys[0],
    activity: activity?.keys[0],
    accountState: account!.state,
    budgetSpend,
    nowMs: deps.clock.nowMs(),
  };
  return renderChangedKey(standing, { spending: spend !== undefined, activity: activity !== undefined });
}

/** Notes the key of a call from the playground. Raises what a call with the key raises. */
async function noteKey(call: Call, deps: OperationDeps): Promise<void> {
  const { accountId, ctx, visitor } = call;
  const key = await ownKey(call, deps);
  assertMayChangeKeysOf(visitor.memberships, visitor.user.isOperator, key);
  const [{ account }, { project }] = await Promise.all([
    deps.peers.auth.getAccount({ accountId }, call.context()),
    deps.peers.auth.getProject({ projectId: key.projectId, accountId }, call.context()),
  ]);
  assertUsable(key, ctx, { accountState: account!.state, accountStateReason: account!.stateReason }, deps.clock.nowMs());
  const state = stateOf(ctx);
  state.key = key;
  state.project = project;
  state.accountRateLimits = account!.rateLimits;
  state.budgets = [...key.budgets, ...project!.budgets, ...account!.budgets];
  state.accountTimeZone = account!.timeZone;
  state.neverLogPrompts = account!.neverLogPrompts;
}

async function renderedOne(key: Key, call: Call, deps: OperationDeps): Promise<ApiKey> {
  return (await rendered([key], call, deps))[0]!;
}

// The services reject these too, but with the names of their own fields.
function limitNanoUsd(text: string): bigint {
  const limit = nanoUsdOf('limit_usd', text, limitNanoUsdMax);
  if (limit <= 0n) throw fieldFault('limit_usd', 'positive_limit');
  return limit;
}
