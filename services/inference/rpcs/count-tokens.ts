// Counts the input tokens of a request by the first target that can be tried.
import type { CallContext } from '#kit/rpc/call-context.js';
import type { CountTokensRequest, CountTokensResponse } from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';
import { checkMessagesVersion, checkPrompt, checkReasoning, checkTargets } from '../request-rules.js';
import { callOver, Watchdog } from '../upstreams/watchdog.js';

/** InferenceService.CountTokens. */
export async function countTokens(request: CountTokensRequest, context: CallContext, deps: RpcDeps): Promise<CountTokensResponse> {
  checkTargets(request.targets);
  checkPrompt(request.prompt);
  checkReasoning(request.reasoning);
  checkMessagesVersion(request.messagesVersion);
  const [first] = await deps.registry.resolve(request.targets);
  const watchdog = new Watchdog(context.signal);
  try {
    return await first!.upstream.countTokens(request, { target: first!.target, signal: watchdog.signal, traceHeaders: {} });
  } finally {
    watchdog.end(callOver);
  }
}
