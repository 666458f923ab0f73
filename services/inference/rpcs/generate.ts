// Generates one answer: tries targets until one starts to answer and, where the client has received nothing yet, until one completes its answer.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { GenerateRequest, GenerateResponse } from '#proto/inference/v1/inference.js';
import { AttemptSpan } from '../attempts/attempt-span.js';
import { AttemptNote } from '../attempts/attempt-note.js';
import type { RpcDeps } from '../deps.js';
import { CallRoute, pause } from '../routing/call-route.js';
import { checkGenerateRequest } from '../requests/request-rules.js';
import type { UpstreamCredential } from '../upstreams/credentials.js';
import { refusalFor } from '../upstreams/native.js';
import type { ResolvedTarget } from '../upstreams/registry.js';
import { Watchdog } from '../upstreams/watchdog.js';

/** Implements InferenceService.Generate. */
export async function* generate(
  request: GenerateRequest,
  context: CallContext,
  deps: RpcDeps,
): AsyncGenerator<GenerateResponse, void, undefined> {
  checkGenerateRequest(request);
  const route = new CallRoute(deps.router, await deps.registry.resolve(request.targets), request);
  const cameAtMs = deps.clock.monotonicMs();
  const watchdog = new Watchdog(context.signal);
  watchdog.expect('finish its answer', deps.config.totalTimeoutMs);
  let target = route.first();
  try {
    for (;;) {
      let hasBegun = false;
      const note = new AttemptNote(target.target, cameAtMs, deps.clock);
      const chosen = { choice: route.choice, credentialId: route.credential?.id };
      try {
        const refusal = refusalFor(request, target.upstream.format);
        if (refusal !== undefined) throw refusal;
        const admitted = route.admit(watchdog.signal);
        if (admitted !== undefined) await admitted;
        route.begin();
        for await (const message of attempt(target, route.credential, request, watchdog.signal, note, deps)) {
          if (!hasBegun && message.accepted === undefined) {
            hasBegun = true;
            route.answered(target.upstream.answersWhole(request));
            const first = message.events[0]?.event;
            if (first?.$case === 'started') Object.assign(first.value, chosen);
          }
          route.noteUsage(message.usageSoFar);
          yield message;
        }
        route.succeed();
        return;
      } catch (error) {
        route.fail(error);
        // The client of a whole answer has received nothing yet.
        const isOver = (hasBegun && request.streaming) || watchdog.hasEnded;
        const next = isOver ? undefined : route.next(error, note.hasStatus);
        if ((next !== undefined || !hasBegun) && !context.signal.aborted) yield note.failed(error, chosen, next?.resolved.target);
        if (next === undefined) throw error;
        if (next.pauseMs > 0) await pause(next.pauseMs, watchdog.signal);
        target = next.resolved;
      } finally {
        route.end();
      }
    }
  } finally {
    watchdog.close();
  }
}

/** Runs one attempt in its own span. Its failure is logged here, with the details that only operators may see. */
async function* attempt(
  resolved: ResolvedTarget,
  credential: UpstreamCredential | undefined,
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
      credential,
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
    const fields = {
      call_id: request.callId,
      upstream: upstream.id,
      upstream_model: target.upstreamModel,
      credential: credential?.id,
      reason,
      why: describe(cause),
    };
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
