// Upstreams, for operators. Secrets are accepted but never returned.
import { fault } from '#client/errors/fault.js';
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { Upstream as UpstreamMessage, type UpstreamLimits } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { declaredProbes, testTokens } from '#rules/upstreams/capability-probes.js';
import { chargeFor } from '#rules/money/pricing.js';
import { limitFields, limitsOfFields } from '#rules/upstreams/upstream-limits.js';
import type { OperationDeps } from '../../deps.js';
import { renderTest, renderUpstream, type RoutedModel } from '../../render/upstreams.js';
import { words } from '../../render/words.js';
import {
  CreateUpstream,
  DeleteUpstream,
  PutCredential,
  TestUpstream,
  UpdateUpstream,
  Upstream,
  type UpstreamFields,
  UpstreamList,
  UpstreamTest,
} from '../../schemas/operator/upstreams.js';
import { type Area, type Call, created, done, ok, operation } from '../../table/operation.js';
import { updateMaskOf } from '../../table/update-mask.js';

// The service ends a test within 15 s; the response still has to arrive.
const testTimeoutMs = 25_000;
/** What each probe of a capability adds to it. */
const probeTimeoutMs = 10_000;
const modelsNamed = 10;
const locked = { failed_precondition: 'It is built in or set by the environment.' };

export const upstreams: Area = {
  title: 'Operators: upstreams',
  description: 'The vendors and servers that serve models. Secrets are accepted but never returned.',
  operations: [
    operation('GET', '/operator/upstreams', {
      summary: 'List the upstreams with their latest tests. The list is not paginated.',
      who: 'operator',
      answers: [ok(UpstreamList)],
      handle: async (call, deps) => {
        const [found, routed] = await Promise.all([listUpstreams(call, deps), routedModels(call, deps)]);
        return { data: found.map((upstream) => renderUpstream(upstream, routed.get(upstream.id) ?? [])), next: null };
      },
    }),
    operation('POST', '/operator/upstreams', {
      summary: 'Create an upstream.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: CreateUpstream,
      answers: [created(Upstream)],
      errors: { already_exists: 'An upstream with this id already exists.' },
      handle: async (call, deps) => {
        const {
          body: { upstream: fields, secret },
          context,
        } = call;
        const { id } = fields;
        const upstream = UpstreamMessage.fromPartial({
          id,
          apiFormat: words.apiFormat.value(fields.api_format),
          baseUrl: fields.base_url,
          allowPrivateNetwork: fields.allow_private_network ?? false,
          enabled: fields.enabled ?? true,
          wholeAnswers: fields.whole_answers ?? false,
          limits: limitsOf(fields.limits, undefined),
          allowedFields: fields.allowed_fields ?? [],
        });
        await deps.peers.inference.putUpstream({ upstream, secret: secret ?? '', createOnly: true }, context());
        return shown(id, call, deps);
      },
    }),
    operation('PATCH', '/operator/upstreams/{id}', {
      summary: 'Change an upstream: absent fields are unchanged, including the secret.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: UpdateUpstream,
      answers: [ok(Upstream)],
      errors: locked,
      handle: async (call, deps) => {
        const { body, context } = call;
        const present = await mustFind(call, deps);
        const fields = body.upstream ?? {};
        const upstream = UpstreamMessage.fromPartial({
          id: present.id,
          apiFormat: fields.api_format === undefined ? present.apiFormat : words.apiFormat.value(fields.api_format),
          baseUrl: fields.base_url ?? present.baseUrl,
          allowPrivateNetwork: fields.allow_private_network ?? present.allowPrivateNetwork,
          enabled: fields.enabled ?? present.enabled,
          wholeAnswers: fields.whole_answers ?? present.wholeAnswers,
          limits: limitsOf(fields.limits, present.limits),
          allowedFields: fields.allowed_fields ?? present.allowedFields,
        });
        const secret = body.secret === undefined ? undefined : (body.secret ?? '');
        // Only these fields, so that what another operator changes meanwhile is kept.
        const { limits = {}, ...others } = fields;
        const updateMask = [...updateMaskOf(others), ...updateMaskOf(limits).map((limit) => `limits.${limit}`)];
        await deps.peers.inference.putUpstream({ upstream, ...(secret === undefined ? {} : { secret }), updateMask }, context());
        return shown(present.id, call, deps);
      },
    }),
    operation('DELETE', '/operator/upstreams/{id}', {
      summary: 'Delete an upstream.',
      who: 'operator',
      query: DeleteUpstream,
      answers: [done()],
      errors: { failed_precondition: 'Models are routed to it, or it is built in or set by the environment.' },
      handle: async (call, deps) => {
        const { query, context } = call;
        const { id } = await mustFind(call, deps);
        const used = ((await routedModels(call, deps)).get(id) ?? []).filter(({ isRetired }) => !isRetired).map(({ modelId }) => modelId);
        if (used.length > 0 && query.force !== 'true') {
          const models = used.slice(0, modelsNamed).join(', ') + (used.length > modelsNamed ? ', …' : '');
          throw fault('upstream_in_use', { id, models });
        }
        await deps.peers.inference.deleteUpstream({ upstreamId: id }, context());
      },
    }),
    operation('PUT', '/operator/upstreams/{id}/credentials/{credential}', {
      summary: 'Add a credential, or replace its secret.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: PutCredential,
      answers: [ok(Upstream)],
      errors: locked,
      handle: async (call, deps) => {
        const { id: upstreamId, credential: credentialId } = call.params;
        const { secret, create_only: createOnly } = call.body;
        await deps.peers.inference.putCredential({ upstreamId, credentialId, secret, createOnly }, call.context());
        return shown(upstreamId, call, deps);
      },
    }),
    operation('DELETE', '/operator/upstreams/{id}/credentials/{credential}', {
      summary: 'Remove a credential.',
      who: 'operator',
      answers: [ok(Upstream)],
      errors: locked,
      handle: async (call, deps) => {
        const { id: upstreamId, credential: credentialId } = call.params;
        await deps.peers.inference.deleteCredential({ upstreamId, credentialId }, call.context());
        return shown(upstreamId, call, deps);
      },
    }),
    operation('POST', '/operator/upstreams/{id}/test', {
      summary:
        'Test an upstream step by step. With `upstream_model`, also make a call, and one for each capability that the catalog lists for the model.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: TestUpstream,
      answers: [ok(UpstreamTest, 'The results, which are kept with the upstream.')],
      handle: async (call, deps) => {
        const {
          body: { upstream_model },
          context,
        } = call;
        const { id } = await mustFind(call, deps);
        const { models } = await deps.peers.catalog.listModels({}, context());
        const probes = declaredProbes(models, id, upstream_model ?? '');
        const request = { upstreamId: id, probes, upstreamModel: upstream_model ?? undefined };
        const { test } = await deps.peers.inference.testUpstream(request, context({ ms: testTimeoutMs + probes.length * probeTimeoutMs }));
        return renderTest(test!);
      },
    }),
  ],
};

/** Returns the limits with those changed that the body contains; null removes one. */
function limitsOf(fields: UpstreamFields['limits'], present: UpstreamLimits | undefined): UpstreamLimits {
  return limitsOfFields({ ...limitFields(present, null), ...fields });
}

type Rpc = Pick<Call, 'context'>;

async function shown(id: string, call: Rpc, deps: OperationDeps): Promise<Upstream> {
  const [upstream, routed] = await Promise.all([find(id, call, deps), routedModels(call, deps)]);
  if (upstream === undefined) throw fault('no_such_id', { what: 'upstream' });
  return renderUpstream(upstream, routed.get(id) ?? []);
}

async function mustFind(call: Call<'id'>, deps: OperationDeps): Promise<UpstreamMessage> {
  const upstream = await find(call.params.id, call, deps);
  if (upstream === undefined) throw fault('no_such_id', { what: 'upstream' });
  return upstream;
}

async function find(id: string, call: Rpc, deps: OperationDeps): Promise<UpstreamMessage | undefined> {
  return (await listUpstreams(call, deps)).find((upstream) => upstream.id === id);
}

async function listUpstreams({ context }: Rpc, { peers }: OperationDeps): Promise<UpstreamMessage[]> {
  return (await peers.inference.listUpstreams({ withTests: true }, context())).upstreams;
}

/** Returns the models that are routed to each upstream, by the upstream's id. */
async function routedModels({ context }: Rpc, { peers }: OperationDeps): Promise<Map<string, RoutedModel[]>> {
  const { models } = await peers.catalog.listModels({}, context());
  const routed = new Map<string, RoutedModel[]>();
  for (const { id, targets, state, price } of models) {
    for (const { upstreamId, upstreamModel } of targets) {
      const { input, output } = testTokens(declaredProbes(models, upstreamId, upstreamModel));
      const tokens = TokenCounts.fromPartial({ inputTokens: input, outputTokens: output });
      const trialNanoUsd = price === undefined ? undefined : chargeFor(tokens, price).chargeNanoUsd;
      const entry = { modelId: id, upstreamModel, isRetired: state === ModelState.MODEL_STATE_RETIRED, trialNanoUsd };
      routed.set(upstreamId, [...(routed.get(upstreamId) ?? []), entry]);
    }
  }
  return routed;
}
