// Upstreams for operators. Their secrets go in and never come out.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { Upstream } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { noteAudit } from '../../audit.js';
import { contextOf, contextWithin } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { queryText } from '../../paging.js';
import { words } from '../../render/catalog-words.js';
import { renderTest, renderUpstream, type RoutedModel } from '../../render/upstreams.js';
import { catalogBodies } from './catalog-bodies.js';

// The service ends a test within 15 s; then there is still an answer to come.
const testTimeoutMs = 25_000;
/** The most that the call of a test takes, by the contract of the test. */
const trialTokens = TokenCounts.fromPartial({ inputTokens: 66, outputTokens: 1 });

/** GET upstreams, each with its last test and the models that are routed to it. */
export function listUpstreams(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const [{ upstreams }, routed] = await Promise.all([
      deps.peers.inference.listUpstreams({ withTests: true }, contextOf(deps)),
      routedModels(deps),
    ]);
    ctx.body = { data: upstreams.map((upstream) => renderUpstream(upstream, routed.get(upstream.id) ?? [])), next: null };
  };
}

/** POST upstreams: a new one. Raises already_exists. */
export function createUpstream(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { upstream: body, secret } = await catalogBodies.createUpstream(ctx);
    if ((await find(body.id, deps)) !== undefined)
      throw new AppError('already_exists', `There is an upstream "${body.id}" already.`, { details: { field: 'upstream.id' } });
    const upstream = Upstream.fromPartial({
      id: body.id,
      apiFormat: words.apiFormat.value(body.api_format),
      baseUrl: body.base_url,
      allowPrivateNetwork: body.allow_private_network ?? false,
      enabled: body.enabled ?? true,
    });
    await deps.peers.inference.putUpstream({ upstream, secret: secret ?? '' }, contextOf(deps));
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'upstream.create',
      targetId: body.id,
      detail: { ...body, secret: secretWord(secret ?? '') },
    });
    ctx.status = 201;
    ctx.body = await shown(body.id, deps);
  };
}

/** PATCH upstreams/{id}: only what the body names. Without a secret the present one is kept. */
export function updateUpstream(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await catalogBodies.updateUpstream(ctx);
    const present = await mustFind(ctx, deps);
    const fields = body.upstream ?? {};
    const upstream = Upstream.fromPartial({
      id: present.id,
      apiFormat: fields.api_format === undefined ? present.apiFormat : words.apiFormat.value(fields.api_format),
      baseUrl: fields.base_url ?? present.baseUrl,
      allowPrivateNetwork: fields.allow_private_network ?? present.allowPrivateNetwork,
      enabled: fields.enabled ?? present.enabled,
    });
    await deps.peers.inference.putUpstream(
      { upstream, ...(body.secret === undefined ? {} : { secret: body.secret ?? '' }) },
      contextOf(deps),
    );
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'upstream.update',
      targetId: present.id,
      detail: { ...fields, ...(body.secret === undefined ? {} : { secret: secretWord(body.secret ?? '') }) },
    });
    ctx.body = await shown(present.id, deps);
  };
}

/** DELETE upstreams/{id}: refused where models are routed to it, unless ?force=true. */
export function deleteUpstream(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { id } = await mustFind(ctx, deps);
    const used = ((await routedModels(deps)).get(id) ?? []).filter(({ isRetired }) => !isRetired).map(({ modelId }) => modelId);
    if (used.length > 0 && queryText(ctx, 'force') !== 'true') {
      throw new AppError(
        'failed_precondition',
        `These models are routed to "${id}": ${used.slice(0, 10).join(', ')}${used.length > 10 ? ` and ${used.length - 10} more` : ''}. Change their targets first, or disable the upstream.`,
      );
    }
    await deps.peers.inference.deleteUpstream({ upstreamId: id }, contextOf(deps));
    await noteAudit(ctx, deps, { accountId: '', action: 'upstream.delete', targetId: id, detail: { routed_models: used } });
    ctx.status = 204;
  };
}

/** POST upstreams/{id}/test: step by step; what was found is kept and shown with the upstream. */
export function testUpstream(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { upstream_model } = await catalogBodies.testUpstream(ctx);
    const { id } = await mustFind(ctx, deps);
    const context = contextWithin(testTimeoutMs);
    const { test } = await deps.peers.inference.testUpstream(
      { upstreamId: id, ...(upstream_model == null ? {} : { upstreamModel: upstream_model }) },
      context,
    );
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'upstream.test',
      targetId: id,
      detail: { ok: test!.ok, failed_step: test!.failedStep, upstream_model: upstream_model ?? null },
    });
    ctx.body = renderTest(test!);
  };
}

async function shown(id: string, deps: ConsoleDeps): Promise<Record<string, unknown>> {
  const [upstream, routed] = await Promise.all([find(id, deps), routedModels(deps)]);
  if (upstream === undefined) throw unknownUpstream();
  return renderUpstream(upstream, routed.get(id) ?? []);
}

async function mustFind(ctx: Context, deps: ConsoleDeps): Promise<Upstream> {
  const upstream = await find(String(ctx['params'].id), deps);
  if (upstream === undefined) throw unknownUpstream();
  return upstream;
}

async function find(id: string, deps: ConsoleDeps): Promise<Upstream | undefined> {
  const { upstreams } = await deps.peers.inference.listUpstreams({ withTests: true }, contextOf(deps));
  return upstreams.find((upstream) => upstream.id === id);
}

function unknownUpstream(): AppError {
  return new AppError('not_found', 'There is no upstream with this id.', { details: { what: 'upstream' } });
}

/** By the upstream's id. */
async function routedModels(deps: ConsoleDeps): Promise<Map<string, RoutedModel[]>> {
  const { models } = await deps.peers.catalog.listModels({}, contextOf(deps));
  const priced = models.flatMap(({ price }) => (price === undefined ? [] : [price]));
  const { estimates } = await deps.peers.metering.estimateCharges({ prices: priced, tokens: [trialTokens] }, contextOf(deps));
  const trialOf = new Map(priced.map((price, index) => [price.modelId, estimates[index]!.chargeNanoUsd]));
  const routed = new Map<string, RoutedModel[]>();
  for (const { id, targets: routes, state } of models) {
    for (const { upstreamId, upstreamModel } of routes) {
      const entry = { modelId: id, upstreamModel, isRetired: state === ModelState.MODEL_STATE_RETIRED, trialNanoUsd: trialOf.get(id) };
      routed.set(upstreamId, [...(routed.get(upstreamId) ?? []), entry]);
    }
  }
  return routed;
}

/** For the audit log: that a secret changed, and nothing of it. */
function secretWord(secret: string): string {
  return secret === '' ? 'none' : 'set';
}
