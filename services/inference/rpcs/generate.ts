// Generates one answer: tries the targets in order until one starts to answer, and then stays with it.
import { AppError, hasReason } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { GenerateRequest, GenerateResponse } from '#proto/inference/v1/inference.js';
import { AttemptSpan } from '../attempts/attempt-span.js';
import { AttemptNote } from '../attempts/attempt-note.js';
import type { RpcDeps } from '../deps.js';
import { checkGenerateRequest } from '../requests/request-rules.js';
import { refusalFor } from '../upstreams/native.js';
import type { ResolvedTarget } from '../upstreams/registry.js';
import { retryableReasons } from '../upstreams/upstream.js';
import { Watchdog } from '../upstreams/watchdog.js';

/** Implements InferenceService.Generate. */
export async function* generate(
  request: GenerateRequest,
  context: CallContext,
  deps: RpcDeps,
): AsyncGenerator<GenerateResponse, void, undefined> {
  checkGenerateRequest(request);
  const targets = await deps.registry.resolve(request.targets);
  const cameAtMs = deps.clock.monotonicMs();
  const watchdog = new Watchdog(context.signal);
  watchdog.expect('finish its answer', deps.config.totalTimeoutMs);
  try {
    for (const [position, target] of targets.entries()) {
      let hasBegun = false;
      const note = new AttemptNote(target.target, cameAtMs, deps.clock);
      try {
        const refusal = refusalFor(request, target.upstream.format);
        if (refusal !== undefined) throw refusal;
        for await (const message of attempt(target, request, watchdog.signal, note, deps)) {
          hasBegun ||= message.accepted === undefined;
          yield message;
        }
        return;
      } catch (error) {
        if (hasBegun) throw error;
        // The next target may be able to honour a field that this target's format cannot.
        const isRetryable = !watchdog.hasEnded && hasReason(error, 'unsupported_field', ...retryableReasons);
        const next = isRetryable ? targets[position + 1] : undefined;
        if (!context.signal.aborted) yield note.failed(error, next?.target);
        if (next === undefined) throw error;
      }
    }
  } finally {
    watchdog.close();
  }
}

/** Runs one attempt in its own span. Its failure is logged here, with the details that only operators may see. */
async function* attempt(
  resolved: ResolvedTarget,
  request: GenerateRequest,
  signal: AbortSignal,
  note: AttemptNote,
  { config, clock, log }: RpcDeps,
): AsyncGenerator<GenerateResponse, void, undefined> {
  const { target, upstream } = resolved;
  const span = new AttemptSpan(resolved, request, clock);
  const learnsTrace = config.propagateTrace === 'always' || (config.propagateTrace === 'private' && upstream.isPrivate);
  try {
    for await (const message of upstream.generate(request, {
      target,
      signal,
      traceHeaders: learnsTrace ? span.traceHeaders() : {},
      onResponse: note.onResponse,
    })) {
      span.observe(message);
      noteUsageFault(message, request, resolved, log);
      yield message;
    }
  } catch (error) {
    span.fail(error);
    const { reason, cause } = error instanceof AppError ? error : { reason: 'internal', cause: error };
    const fields = { call_id: request.callId, upstream: upstream.id, upstream_model: target.upstreamModel, reason, why: describe(cause) };
    if (reason === 'cancelled') log.debug(fields, 'upstream call cancelled');
    else log.warn(fields, 'upstream call failed');
    throw error;
  } finally {
    span.end();
  }
}

/** Logs usage figures that were rejected, so that operators can look into them: the vendor will bill by them. */
function noteUsageFault(
  { events }: GenerateResponse,
  request: GenerateRequest,
  { target, upstream }: ResolvedTarget,
  log: RpcDeps['log'],
): void {
  const last = events.at(-1)?.event;
  if (last?.$case !== 'finished' || last.value.usageFault === '') return;
  const fields = {
    call_id: request.callId,
    upstream: upstream.id,
    upstream_model: target.upstreamModel,
    usage_fault: last.value.usageFault,
  };
  log.warn(fields, "upstream's usage figures break a rule; our own count is charged");
}

function describe(cause: unknown): string | undefined {
  if (cause instanceof AggregateError && cause.errors.length > 0) return describe(cause.errors[0]);
  return cause instanceof Error ? `${cause.name}: ${cause.message}` : undefined;
}
