// Counts the input tokens of a request with the first target that can be tried.
import type { CallContext } from '#client/call-context.js';
import type { CountTokensRequest, CountTokensResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { checkMessagesVersion, checkPrompt, checkReasoning, checkTargets } from '../requests/request-rules.js';
import { refusalFor } from '../upstreams/requests/native.js';
import { noTarget } from '../upstreams/registry.js';
import { Watchdog } from '../upstreams/watchdog.js';

/** Implements InferenceService.CountTokens. */
export async function countTokens(request: CountTokensRequest, context: CallContext, deps: RpcDeps): Promise<CountTokensResponse> {
  checkTargets(request.targets);
  checkPrompt(request.prompt, request.native);
  checkReasoning(request.reasoning);
  checkMessagesVersion(request.messagesVersion);
  const { registry, router } = deps;
  const targets = (await registry.resolve(request.targets)).filter(
    ({ target, upstream }) => !router.isDrained(router.find(target), upstream.credentials),
  );
  if (targets.length === 0) throw noTarget();
  const refusals = targets.map(({ upstream }) => refusalFor(request, upstream.format));
  // The same target that would answer a call, as far as that is known before the call.
  const first = targets[refusals.indexOf(undefined)];
  if (first === undefined) throw refusals[0];
  const watchdog = new Watchdog(context.signal);
  try {
    const { target, upstream } = first;
    const credential = router.undrainedOf(router.find(target), upstream.credentials)[0]?.credential;
    return await upstream.countTokens(request, { target, credential, signal: watchdog.signal, traceHeaders: {} });
  } finally {
    watchdog.close();
  }
}
