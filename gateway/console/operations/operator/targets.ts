// The targets of models and their health, for operators.
import type { OperationDeps } from '../../deps.js';
import { renderTargets } from '../../render/targets.js';
import { words } from '../../render/words.js';
import { OverrideTarget, RoutedTarget, TargetList } from '../../schemas/operator/targets.js';
import { type Area, type Call, ok, operation } from '../../table/operation.js';

const ejectForMsDefault = 600_000;

export const targets: Area = {
  title: 'Operators: targets',
  description: 'The upstreams and models that calls are routed to, and their health in each process.',
  operations: [
    operation({
      method: 'GET',
      path: '/operator/targets',
      summary: 'List the targets of all models with their health, without pages.',
      who: 'operator',
      answers: [ok(TargetList)],
      handle: async (call, deps) => ({ data: await listTargets(call, deps), next: null }),
    }),
    operation({
      method: 'POST',
      path: '/operator/targets/override',
      summary: 'Drain, eject or return a target in every process.',
      who: 'operator',
      fieldPaths: 'brackets',
      body: OverrideTarget,
      answers: [ok(RoutedTarget)],
      handle: async (call, deps) => {
        const { upstream_id, upstream_model, mode, eject_for_ms } = call.body;
        await deps.peers.inference.overrideTarget(
          {
            upstreamId: upstream_id,
            upstreamModel: upstream_model,
            mode: words.overrideMode.value(mode),
            ejectForMs: mode === 'eject' ? (eject_for_ms ?? ejectForMsDefault) : 0,
          },
          call.context(),
        );
        const found = await listTargets(call, deps);
        return (
          found.find((target) => target.upstream_id === upstream_id && target.upstream_model === upstream_model) ?? {
            upstream_id,
            upstream_model,
            drained: false,
            models: [],
            health: [],
          }
        );
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
