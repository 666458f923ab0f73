// tollgate upstream health|drain|eject|return: which targets are out of service, and how an operator takes them out of service or returns them.
import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { nearMatch } from '#kit/config/settings.js';
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { OverrideMode } from '#proto/inference/v1/inference.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { CliError } from '../errors.js';
import { parseTimeLimit } from '../options/parse.js';
import { unlessUnavailable } from '../unavailable.js';
import { overrideView, targetHealthView, targetStandings } from '../views/target-health.js';

const reportedAfterMs = 3000;

/** Adds the commands to the noun `upstream`. */
export function addHealthCommands(upstream: Command, cli: Cli): void {
  upstream
    .command('health')
    .description('List the targets of models that are ejected, cooling down, failing or drained, in each process.')
    .option('--all', 'include those in service, which takes three seconds')
    .action(({ all }: { all?: boolean }) =>
      cli.withServices(async ({ inference }) => {
        const list = () => inference.listTargetHealth({ withAvailable: all }, operatorCall());
        if (all === true) {
          // Processes report targets in service only while an operator lists them, each from its next call on.
          await list();
          await pause(reportedAfterMs);
        }
        cli.out.list(targetHealthView, targetStandings(await list(), cli.world.nowMs()));
      }),
    );

  const override = (name: string, mode: OverrideMode, description: string): Command =>
    upstream
      .command(`${name} <id> <model>`)
      .description(description)
      .option('--credential <name>', 'only this credential of an upstream that has several')
      .action((upstreamId: string, upstreamModel: string, options: { for?: number; credential?: string }) =>
        cli.withServices(async (services) => {
          // A target that is out of service can be returned even if no model is routed to it.
          const isOut = mode === OverrideMode.OVERRIDE_MODE_RETURN && (await isOutOfService(services, upstreamId, upstreamModel));
          if (!isOut) await assertRouted(services, upstreamId, upstreamModel);
          const request = { upstreamId, upstreamModel, credentialId: options.credential ?? '', mode, ejectForMs: options.for ?? 0 };
          cli.out.show(overrideView, (await services.inference.overrideTarget(request, operatorCall())).override!);
        }),
      );
  override(
    'drain',
    OverrideMode.OVERRIDE_MODE_DRAIN,
    "Send no further calls to an upstream's model (its name at the upstream) until it is returned.",
  );
  override(
    'eject',
    OverrideMode.OVERRIDE_MODE_EJECT,
    "Eject an upstream's model for a while: it is called only if no other target is left.",
  ).requiredOption('--for <time>', 'for example 10m', parseTimeLimit);
  override('return', OverrideMode.OVERRIDE_MODE_RETURN, "Return an upstream's model to service immediately, in every process.");
}

/** Reports whether a process has taken this target out of service, or an operator has. */
async function isOutOfService({ inference }: Services, upstreamId: string, upstreamModel: string): Promise<boolean> {
  const { targets, overrides } = await inference.listTargetHealth({}, operatorCall());
  const taken = overrides.filter(({ mode }) => mode !== OverrideMode.OVERRIDE_MODE_RETURN);
  return [...targets, ...taken].some((each) => each.upstreamId === upstreamId && each.upstreamModel === upstreamModel);
}

/** Raises an error unless a model has this target. While the catalog is unavailable, targets are not checked, so that they can be drained. */
async function assertRouted({ catalog }: Services, upstreamId: string, upstreamModel: string): Promise<void> {
  const listed = await unlessUnavailable(catalog.listModels({}, operatorCall()));
  if (listed === undefined) return;
  const routed = listed.models
    .filter(({ state }) => state !== ModelState.MODEL_STATE_RETIRED)
    .flatMap(({ id, aliases, targets }) =>
      targets.filter((target) => target.upstreamId === upstreamId).map((target) => ({ names: [id, ...aliases], at: target.upstreamModel })),
    );
  if (routed.some(({ at }) => at === upstreamModel)) return;
  const all = [...new Set(routed.map(({ at }) => at))].toSorted();
  const meant = routed.find(({ names }) => names.includes(upstreamModel))?.at ?? nearMatch(upstreamModel, all);
  const known =
    all.length === 0
      ? `No model is routed to "${upstreamId}"; 'tollgate upstream list' shows all upstreams.`
      : `The names of models at "${upstreamId}" are: ${all.join(', ')}.`;
  throw new CliError(`No model is routed to "${upstreamId}" as "${upstreamModel}".`, {
    fix: meant === undefined ? known : `Did you mean "${meant}"? ${known}`,
  });
}
