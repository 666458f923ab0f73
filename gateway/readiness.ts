// Checks whether calls can be served: each peer is reachable, each local copy is filled.
import { newId } from '#kit/id.js';
import type { Clock } from '#kit/clock.js';
import { callContext } from '#client/call-context.js';
import type { GatewayPeers } from './peers.js';
import type { Recorder } from './call/recorder.js';
import type { KeyReplica } from './replicas/keys.js';
import type { ModelReplica } from './replicas/models.js';

const checkTimeoutMs = 1000;
/** How long a result is cached, so that probes cannot load the services. */
const keptMs = 250;

/** Returns a function that names the missing parts; none if calls can be served. */
export function createReadiness(deps: {
  peers: GatewayPeers;
  keys: KeyReplica;
  models: ModelReplica;
  recorder: Pick<Recorder, 'isRecording'>;
  clock: Clock;
}): () => Promise<string[]> {
  const { peers, keys, models, recorder, clock } = deps;
  // Any account will do: the ledger returns zero for one that it does not know.
  const probeAccountId = newId('acct');
  let kept: { atMs: number; missing: Promise<string[]> } | undefined;

  async function findMissing(): Promise<string[]> {
    const context = callContext({ caller: 'gateway', timeoutMs: checkTimeoutMs });
    const isReached = (answer: Promise<unknown>): Promise<boolean> =>
      answer.then(
        () => true,
        () => false,
      );
    const [ledger, metering] = await Promise.all([
      isReached(peers.ledger.getBalance({ accountId: probeAccountId }, context)),
      isReached(peers.metering.getOutbox({}, context)),
    ]);
    const parts: Record<string, boolean> = {
      auth: keys.isLive(),
      catalog: models.hasCatalog(),
      ledger,
      metering: metering && recorder.isRecording(),
      inference: models.isInferenceReached(),
    };
    return Object.keys(parts).filter((name) => !parts[name]);
  }

  return () => {
    const nowMs = clock.nowMs();
    if (kept === undefined || nowMs - kept.atMs >= keptMs) kept = { atMs: nowMs, missing: findMissing() };
    return kept.missing;
  };
}
