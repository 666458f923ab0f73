// Checks whether calls can be served: the services that write for each call can write, every local copy is filled, and the spool has room.
import { setTimeout as sleep } from 'node:timers/promises';
import { HealthCheckResponse_ServingStatus as Status } from '#grpc/health/v1/health.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import type { Clock } from '#kit/clock.js';
import { callContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import type { GatewayPeers } from './peers.js';
import type { Recorder } from './call/recording/recorder.js';
import type { Spool } from './call/recording/spool/spool.js';
import type { KeyReplica } from './replicas/keys.js';
import type { ModelReplica } from './replicas/models.js';

const checkTimeoutMs = 1000;
/** How long a result is cached, so that probes cannot load the services. */
const keptMs = 250;
/** Attempts are spread over the replicas of a service, of which some may be stopping, lost or hung. */
const attemptsMax = 8;
const firstWaitMs = 100;

/** Returns a function that names the missing parts; none if calls can be served. */
export function createReadiness(deps: {
  health: GatewayPeers['health'];
  keys: Pick<KeyReplica, 'isUsable'>;
  models: Pick<ModelReplica, 'hasCatalog' | 'isInferenceReached'>;
  recorder: Pick<Recorder, 'isRecording'>;
  spool: Pick<Spool, 'hasRoom'>;
  clock: Clock;
}): () => Promise<string[]> {
  const { health, keys, models, recorder, spool, clock } = deps;
  let kept: { atMs: number; missing: Promise<string[]> } | undefined;

  async function findMissing(): Promise<string[]> {
    const [ledger, metering, hasRoom] = await Promise.all([
      serves(health.ledger, LedgerServiceDefinition.fullName),
      serves(health.metering, MeteringServiceDefinition.fullName),
      spool.hasRoom(),
    ]);
    const parts: Record<string, boolean> = {
      auth: keys.isUsable(),
      catalog: models.hasCatalog(),
      ledger,
      metering: metering && recorder.isRecording(),
      inference: models.isInferenceReached(),
      spool: hasRoom,
    };
    return Object.keys(parts).filter((name) => !parts[name]);
  }

  return () => {
    const nowMs = clock.monotonicMs();
    if (kept === undefined || nowMs - kept.atMs >= keptMs) kept = { atMs: nowMs, missing: findMissing() };
    return kept.missing;
  };
}

/** Reports whether a replica of the service serves. After the first attempt, all others run at once, because a replica that hangs answers none. */
async function serves(health: GatewayPeers['health']['ledger'], service: string): Promise<boolean> {
  let isServing = false;
  const attempt = async (): Promise<void> => {
    const { status } = await health.check({ service }, callContext({ caller: 'gateway', timeoutMs: checkTimeoutMs }));
    if (status !== Status.SERVING) throw new AppError('service_unavailable', `${service} answers, but does not serve.`);
    isServing = true;
  };
  const first = attempt();
  await Promise.race([first.catch(() => undefined), sleep(firstWaitMs)]);
  if (isServing) return true;
  return Promise.any([first, ...Array.from({ length: attemptsMax - 1 }, attempt)]).then(
    () => true,
    () => false,
  );
}
