// Counts the input tokens of a request with the first target that can be tried.
import type { CallContext } from '#client/call-context.js';
import type { CountTokensRequest, CountTokensResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { checkMessagesVersion, checkPrompt, checkReasoning, checkTargets } from '../requests/request-rules.js';
import { refusalFor } from '../upstreams/native.js';
import { Watchdog } from '../upstreams/watchdog.js';

/** Implements InferenceService.CountTokens. */
export async function countTokens(request: CountTokensRequest, context: CallContext, deps: RpcDeps): Promise<CountTokensResponse> {
  checkTargets(request.targets);
  checkPrompt(request.prompt, request.native);
  checkReasoning(request.reasoning);
  checkMessagesVersion(request.messagesVersion);
  const targets = await deps.registry.resolve(request.targets);
  const refusals = targets.map(({ upstream }) => refusalFor(request, upstream.format));
  // The same target that would answer a call, as far as that is known before the call.
  const first = targets[refusals.indexOf(undefined)];
  if (first === undefined) throw refusals[0];
  const watchdog = new Watchdog(context.signal);
  try {
    return await first.upstream.countTokens(request, { target: first.target, signal: watchdog.signal, traceHeaders: {} });
  } finally {
    watchdog.close();
  }
}
