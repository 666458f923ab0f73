// The targets of models and their health, for operators.
import { fault } from '#client/errors/fault.js';
import { type Model, ModelState } from '#proto/catalog/v1/catalog.js';
import type { OperationDeps } from '../../deps.js';
import { emptyTarget, renderTargets } from '../../render/targets.js';
import { words } from '../../render/words.js';
import { OverrideTarget, RoutedTarget, TargetList } from '../../schemas/operator/targets.js';
import { unlessUnavailable } from '../../unavailable.js';
import { type Area, type Call, ok, operation } from '../../table/operation.js';

const ejectForMsDefault = 600_000;

export const targets: Area = {
  title: 'Operators: targets',
  description: 'The upstreams and models that calls are routed to, and their health in each process.',
  operations: [
    operation('GET', '/operator/targets', {
      summary: 'List the targets of all models with their health. The list is not paginated.',
      who: 'operator',
      answers: [ok(TargetList)],
      handle: async (call, deps) => ({ data: await listTargets(call, deps), next: null }),
    }),
    operation('POST', '/operator/targets/override', {
      summary: 'Drain, eject or return a target, or one of its credentials, in every process.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: OverrideTarget,
      answers: [ok(RoutedTarget)],
      handle: async (call, deps) => {
        const { upstream_id, upstream_model, credential, mode, eject_for_ms } = call.body;
        // A target that no model is routed to any longer can still be returned, and any can be drained while the catalog is unavailable.
        const listed = mode === 'return' ? undefined : await unlessUnavailable(deps.peers.catalog.listModels({}, call.context()));
        const isRouted = ({ state, targets: routed }: Model): boolean =>
          state !== ModelState.MODEL_STATE_RETIRED &&
          routed.some(({ upstreamId, upstreamModel }) => upstreamId === upstream_id && upstreamModel === upstream_model);
        if (listed?.models.some(isRouted) === false) throw fault('no_such_name', { what: 'target' });
        await deps.peers.inference.overrideTarget(
          {
            upstreamId: upstream_id,
            upstreamModel: upstream_model,
            credentialId: credential ?? '',
            mode: words.overrideMode.value(mode),
            ejectForMs: mode === 'eject' ? (eject_for_ms ?? ejectForMsDefault) : 0,
          },
          call.context(),
        );
        const found = await listTargets(call, deps);
        const isIt = (target: RoutedTarget): boolean => target.upstream_id === upstream_id && target.upstream_model === upstream_model;
        return found.find(isIt) ?? emptyTarget(upstream_id, upstream_model);
      },
    }),
  ],
};

async function listTargets({ context }: Pick<Call, 'context'>, { peers }: OperationDeps): Promise<RoutedTarget[]> {
  const [{ models }, health] = await Promise.all([
    peers.catalog.listModels({}, context()),
    peers.inference.listTargetHealth({ withAvailable: true }, context()),
  ]);
  return renderTargets(models, health);
}
