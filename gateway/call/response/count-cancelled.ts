// Counts what a cancelled call used by the tokenizer, where its upstream reported no figures. No client waits for the result.
import type { GenerateRequest } from '#proto/inference/v1/inference.js';
import { callContext } from '#client/call-context.js';
import type { Logger } from '#kit/log.js';
import type { GatewayPeers } from '../../peers.js';
import type { Progress } from './progress.js';

/** Inference counts for at most 10 seconds, and estimates the rest of a longer text. */
const countTimeoutMs = 15_000;

interface CountDeps {
  readonly peers: { readonly inference: Pick<GatewayPeers['inference'], 'countUsage'> };
  readonly log: Logger;
}

/** Replaces the estimates in the call's usage by exact counts. If inference is unavailable, the estimates are charged. */
export async function countCancelled(progress: Progress, request: GenerateRequest, inputTokensMax: number, deps: CountDeps): Promise<void> {
  const uncounted = progress.uncounted(request, inputTokensMax);
  if (uncounted === undefined) return;
  try {
    const { usage } = await deps.peers.inference.countUsage(uncounted, callContext({ caller: 'gateway', timeoutMs: countTimeoutMs }));
    progress.takeCount(usage!);
  } catch (error) {
    deps.log.warn({ err: error, call_id: progress.call.id }, 'the usage of a cancelled call could not be counted; the estimate is charged');
  }
}
