// API keys of an account.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { parseUsd } from '#rules/money.js';
import { CreateKeyRequest, type Key, KeyState, UpdateKeyRequest } from '#proto/auth/v1/auth.js';
import { noteAudit } from '../audit.js';
import { bodies } from '../bodies.js';
import { contextOf } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { idempotencyKeyOf } from '../idempotency-key.js';
import { pageOf } from '../paging.js';
import { keySearchOf, searchPage } from '../key-search.js';
import { type ConsoleKeyView, renderConsoleKey } from '../render/money.js';
import { orNull } from '../render/values.js';
import { accountOf } from '../session.js';
import { updateMaskOf } from '../update-mask.js';

/** GET keys?q=…&state=…: newest first. */
export function listKeys(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    const { items, nextPageToken } = await searchPage(keySearchOf(ctx), pageOf(ctx), async (pageSize, pageToken) => {
      const page = await deps.peers.auth.listKeys({ accountId, pageSize, pageToken, newestFirst: true }, contextOf(deps));
      return { items: await known(page.keys, accountId, deps), nextPageToken: page.nextPageToken };
    });
    ctx.body = { data: items, next: orNull(nextPageToken) };
  };
}

/** GET keys/{id}. */
export function getKey(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'look');
    [ctx.body] = await known([await ownKey(ctx, accountId, deps)], accountId, deps);
  };
}

/** POST keys: the secret is in this answer and nowhere else, ever. */
export function createKey(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change keys');
    const body = await bodies.createKey(ctx);
    const { key, secret } = await deps.peers.auth.createKey(
      CreateKeyRequest.fromPartial({
        accountId,
        name: body.name,
        ...(body.models == null ? {} : { models: { modelIds: body.models } }),
        ...(body.limit_usd == null ? {} : { lifetimeLimitNanoUsd: limitNanoUsd(body.limit_usd) }),
        ...(body.expires_at == null ? {} : { expiresAtMs: expiryMs(body.expires_at, deps.clock.nowMs()) }),
        // A browser that repeats a request it got no answer to makes no second key.
        idempotencyKey: idempotencyKeyOf(ctx, accountId),
      }),
      contextOf(deps),
    );
    await noteAudit(ctx, deps, { accountId, action: 'key.create', targetId: key!.id, detail: { name: key!.name } });
    ctx.status = 201;
    const [shown] = await known([key!], accountId, deps);
    ctx.body = { key: shown, secret: orNull(secret) };
  };
}

/** PATCH keys/{id}. */
export function updateKey(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change keys');
    const before = await ownKey(ctx, accountId, deps);
    const body = await bodies.updateKey(ctx);
    const { key } = await deps.peers.auth.updateKey(
      UpdateKeyRequest.fromPartial({
        keyId: before.id,
        accountId,
        name: body.name ?? '',
        models: body.models === null ? { allModels: true } : { modelIds: body.models ?? [] },
        ...(typeof body.limit_usd === 'string' ? { lifetimeLimitNanoUsd: limitNanoUsd(body.limit_usd) } : {}),
        ...(typeof body.expires_at === 'string' ? { expiresAtMs: expiryMs(body.expires_at, deps.clock.nowMs()) } : {}),
        state: body.state === 'active' ? KeyState.KEY_STATE_ACTIVE : KeyState.KEY_STATE_DISABLED,
        updateMask: updateMaskOf(body, {
          name: 'name',
          models: 'models',
          limit_usd: 'lifetime_limit_nano_usd',
          expires_at: 'expires_at_ms',
          state: 'state',
        }),
      }),
      contextOf(deps),
    );
    await noteAudit(ctx, deps, { accountId, action: 'key.update', targetId: before.id, detail: body });
    [ctx.body] = await known([key!], accountId, deps);
  };
}

/** POST keys/{id}/rotate: the new secret is in this answer and nowhere else, ever. */
export function rotateKey(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change keys');
    const { id: keyId } = await ownKey(ctx, accountId, deps);
    const overlapSeconds = (await bodies.rotateKey(ctx)).overlap_seconds ?? 0;
    const { key, secret } = await deps.peers.auth.rotateKey({ keyId, accountId, overlapMs: overlapSeconds * 1000 }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId, action: 'key.rotate', targetId: keyId, detail: { overlap_seconds: overlapSeconds } });
    const [shown] = await known([key!], accountId, deps);
    ctx.body = { key: shown, secret };
  };
}

/** POST keys/{id}/revoke. */
export function revokeKey(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change keys');
    const { id: keyId } = await ownKey(ctx, accountId, deps);
    const { key } = await deps.peers.auth.revokeKey({ keyId, accountId }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId, action: 'key.revoke', targetId: keyId });
    [ctx.body] = await known([key!], accountId, deps);
  };
}

/** The key in the path, if it is the account's: ids of other accounts' keys are nobody's business. */
export async function ownKey(ctx: Context, accountId: string, deps: ConsoleDeps): Promise<Key> {
  const { key } = await deps.peers.auth.getKey({ keyId: String(ctx['params'].key), accountId }, contextOf(deps));
  return key!;
}

/** The keys with what the account, the ledger and metering know of them. */
async function known(keys: readonly Key[], accountId: string, deps: ConsoleDeps): Promise<ConsoleKeyView[]> {
  if (keys.length === 0) return [];
  const keyIds = keys.map(({ id }) => id);
  const [{ account }, spend, activity] = await Promise.all([
    deps.peers.auth.getAccount({ accountId }, contextOf(deps)),
    deps.peers.ledger.listKeySpend({ accountId, keyIds }, contextOf(deps)),
    deps.peers.metering.batchGetKeyActivity({ accountId, keyIds }, contextOf(deps)),
  ]);
  const nowMs = deps.clock.nowMs();
  return keys.map((key) =>
    renderConsoleKey({
      key,
      spend: spend.keys.find(({ keyId }) => keyId === key.id),
      activity: activity.keys.find(({ keyId }) => keyId === key.id),
      accountState: account!.state,
      nowMs,
    }),
  );
}

// Below what a signed integer of 64 bits holds.
const limitNanoUsdMax = 9_000_000_000n * 1_000_000_000n;

// The services would refuse these too, but by names of fields that no client of ours has sent.
function limitNanoUsd(text: string): bigint {
  const limit = parseUsd(text)!;
  if (limit <= 0n) throw invalid('limit_usd', 'must be above 0; leave it away for a key without a limit');
  if (limit > limitNanoUsdMax) throw invalid('limit_usd', 'must be at most 9,000,000,000');
  return limit;
}

function expiryMs(text: string, nowMs: number): bigint {
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalid('expires_at', 'must be an instant such as 2027-01-31T12:00:00Z');
  if (ms <= nowMs) throw invalid('expires_at', 'must be in the future; disable or revoke a key to stop it now');
  return BigInt(ms);
}

function invalid(field: string, must: string): AppError {
  return new AppError('invalid_request', `${field}: ${must}`, { details: { field } });
}
