// GET and DELETE /v1/responses/{id}, GET /v1/responses/{id}/input_items: responses that are stored for their platform key.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { isId } from '#kit/id.js';
import type { CallDeps } from '../call/metered-call.js';
import type { StoredResponses } from '../call/stored-responses/stored-responses.js';
import { fieldError } from '../formats/requests/body-reader.js';
import { objectIn } from '../formats/rest.js';
import { requestIdOf } from '../formats/responses/ids.js';
import { usageOf } from '../formats/responses/response.js';
import { listedItems, type StoredResponseJson } from '../formats/responses/stored.js';
import { stateOf } from '../http/request-state.js';
import { ownerOf } from './generate.js';

type Deps = CallDeps & { readonly storedResponses: StoredResponses };

const pageMax = 100;
const pageDefault = 20;

/** Returns a response with the usage of its record. */
export function getResponse(deps: Deps): Middleware {
  const { storedResponses, peers, config } = deps;
  return async (ctx: Context) => {
    if (ctx.query['stream'] === 'true') throw fieldError('unsupported_field', 'stream', 'stored responses are not streamed; leave it out');
    const { response } = await storedOf(ctx, storedResponses);
    const { record } = await peers.metering.getUsageRecord(
      { callId: requestIdOf(String(response['id'])), accountId: stateOf(ctx).key!.accountId },
      callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs }),
    );
    ctx.set('cache-control', 'no-store');
    ctx.body = { ...response, usage: usageOf(record!.tokens!, objectIn(response, 'usage')) };
  };
}

/** Returns the items that a response was generated from, including those of the responses that it continues. */
export function listInputItems({ storedResponses }: Deps): Middleware {
  return async (ctx: Context) => {
    const { response, input, previousIds } = await storedOf(ctx, storedResponses);
    const all = listedItems(String(response['id']), [...(await storedResponses.continued(ownerOf(ctx), previousIds)), ...input]);
    const { limit, order, after } = ctx.query;
    if (order !== undefined && order !== 'asc' && order !== 'desc') throw fieldError('invalid_request', 'order', 'must be "asc" or "desc"');
    const count = limit === undefined ? pageDefault : Number(limit);
    if (!Number.isInteger(count) || count < 1 || count > pageMax)
      throw fieldError('invalid_request', 'limit', `must be a whole number from 1 to ${pageMax}`);
    const ordered = order === 'asc' ? all : all.toReversed();
    const before = after === undefined ? -1 : ordered.findIndex(({ id }) => id === after);
    if (after !== undefined && before < 0) throw fieldError('invalid_request', 'after', 'must be the id of an item in the list');
    const data = ordered.slice(before + 1, before + 1 + count);
    ctx.set('cache-control', 'no-store');
    ctx.body = {
      object: 'list',
      data,
      first_id: data[0]?.['id'] ?? null,
      last_id: data.at(-1)?.['id'] ?? null,
      has_more: before + 1 + count < ordered.length,
    };
  };
}

/** Deletes a response and its items. Responses that continue it remain, but cannot be continued any more. */
export function deleteResponse({ storedResponses }: Deps): Middleware {
  return async (ctx: Context) => {
    const stored = await storedOf(ctx, storedResponses);
    await storedResponses.delete(ownerOf(ctx), stored);
    ctx.body = { id: stored.response['id'], object: 'response', deleted: true };
  };
}

async function storedOf(ctx: Context, storedResponses: StoredResponses): Promise<StoredResponseJson> {
  const id = String(ctx['params'].id);
  const stored = isId('req', requestIdOf(id)) ? await storedResponses.find(ownerOf(ctx), id) : undefined;
  if (stored !== undefined) return stored;
  throw new AppError(
    'not_found',
    `Response with id '${id.slice(0, 100)}' not found: it was deleted or has expired, it was not stored, or another platform key received it.`,
    { details: { what: 'response' } },
  );
}
