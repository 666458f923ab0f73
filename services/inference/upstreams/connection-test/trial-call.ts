// The `call` step of a test: a real call of a few tokens, through the same code as all calls.
import type { Clock } from '#kit/clock.js';
import { GenerateRequest, type GenerateResponse, Role } from '#proto/inference/v1/inference.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { checkGenerateRequest } from '../../requests/request-rules.js';
import { inputTokensMax } from '../../tokens/prompt-text.js';
import { totalInput } from '../../tokens/usage-report.js';
import type { UpstreamCredential } from '../credentials.js';
import type { Upstream } from '../upstream.js';
import { type Found, StepFault, withEach } from './step-log.js';

/** The output cap of the call, in tokens: the smallest that the vendors of all formats accept. */
const outputMax = 16;

/** Returns the request: "Hi", with an answer of at most 16 tokens, as a stream or whole, or with a vector. Raises invalid_request for an invalid model name. */
export function trialRequest(upstreamId: string, upstreamModel: string, streaming: boolean, embeds = false): GenerateRequest {
  const request = GenerateRequest.fromPartial({
    callId: 'upstream_test',
    targets: [{ upstreamId, upstreamModel }],
    prompt: { messages: [{ role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text: 'Hi' } } }] }] },
    ...(embeds ? { embedding: {} } : { maxOutputTokens: outputMax, streaming }),
  });
  checkGenerateRequest(request);
  return request;
}

/** Makes the call with each credential. Raises what real calls raise, and StepFault if an answer does not finish. */
export function trialCalls(upstream: Upstream, request: GenerateRequest, clock: Clock, signal: AbortSignal): Promise<Found<void>> {
  return withEach(upstream.credentials, signal, (credential) => trialCall(upstream, request, credential, clock, signal));
}

async function trialCall(
  upstream: Upstream,
  request: GenerateRequest,
  credential: UpstreamCredential | undefined,
  clock: Clock,
  signal: AbortSignal,
): Promise<Found<void>> {
  const startedAtMs = clock.monotonicMs();
  let firstAfterMs: number | undefined;
  let vectorLength = 0;
  for await (const message of upstream.generate(request, { target: request.targets[0]!, credential, signal, traceHeaders: {} })) {
    for (const { event } of message.events) if (event?.$case === 'embedding') vectorLength = event.value.vector.length / 4;
    // Some models produce nothing within so few tokens; then the finish is the first event.
    if (firstAfterMs === undefined && message.events.some(({ event }) => event?.$case !== 'started'))
      firstAfterMs = Math.round(clock.monotonicMs() - startedAtMs);
    const usage = usageWords(message);
    if (usage === undefined) continue;
    const most = inputTokensMax(request.prompt!);
    if (vectorLength > 0) return { what: finding('vector', { count: vectorLength, usage, input: most }), value: undefined };
    return { what: finding('called', { ms: firstAfterMs ?? 0, usage, input: most, output: outputMax }), value: undefined };
  }
  throw new StepFault(finding('unfinished', {}));
}

/** Describes the token counts that the last message of an answer reports; undefined for earlier messages. */
function usageWords({ events }: GenerateResponse): string | undefined {
  const last = events.at(-1)?.event;
  if (last?.$case !== 'finished') return undefined;
  const { usage, usageReported, usageFault } = last.value;
  if (usage !== undefined && usageReported) return finding('usage_reported', { input: totalInput(usage), output: usage.outputTokens });
  return usageFault === '' ? finding('usage_missing', {}) : finding('usage_implausible', { rule: usageFault });
}
