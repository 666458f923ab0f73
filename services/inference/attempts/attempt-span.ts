// The span around one attempt at one upstream, with the attributes of the GenAI conventions.
import { context, propagation, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Clock } from '#kit/clock.js';
import { toAppError } from '#client/errors/app-error.js';
import { type GenerateRequest, type GenerateResponse, StopReason } from '#proto/inference/v1/inference.js';
import { addException } from '#kit/telemetry/traces/exception-event.js';
import { isDropped } from '#kit/telemetry/traces/recorded-trace.js';
import type { AttemptNote } from './attempt-note.js';
import { attribute, operationOf } from './semconv.js';
import { totalInput } from '../tokens/usage-report.js';
import type { ResolvedTarget } from '../upstreams/registry.js';

const tracer = trace.getTracer('tollgate.inference');

/** What distinguishes an attempt from the others of its call. */
export interface AttemptFacts {
  /** From 1. */
  readonly number: number;
  readonly credentialId: string | undefined;
  readonly note: Pick<AttemptNote, 'status'>;
}

/** Traces one attempt. */
export class AttemptSpan {
  /** Absent if the trace is not recorded. */
  readonly #span: Span | undefined;
  readonly #startedAtMs: number;
  #sawFirst = false;
  #finished = false;
  #failed = false;

  constructor(
    { target, upstream }: ResolvedTarget,
    request: GenerateRequest,
    private readonly facts: AttemptFacts,
    private readonly clock: Clock,
  ) {
    this.#startedAtMs = clock.monotonicMs();
    if (isDropped(context.active())) return;
    const span = tracer.startSpan(`${operationOf(request)} ${target.upstreamModel}`, { kind: SpanKind.CLIENT });
    // The attributes are not passed to startSpan, so that a call that is not recorded does not pay for them.
    if (!span.isRecording()) return;
    this.#span = span;
    const { address } = upstream;
    span.setAttributes({
      [attribute.operationName]: operationOf(request),
      [attribute.providerName]: upstream.providerName,
      [attribute.requestModel]: target.upstreamModel,
      [attribute.requestMaxTokens]: request.maxOutputTokens,
      [attribute.requestStream]: request.streaming,
      [attribute.callId]: request.callId,
      [attribute.upstreamId]: upstream.id,
      [attribute.attemptNumber]: facts.number,
      ...(facts.credentialId === undefined ? {} : { [attribute.credentialId]: facts.credentialId }),
      ...(address === undefined ? {} : { [attribute.serverAddress]: address.host, [attribute.serverPort]: address.port }),
    });
  }

  /** Returns the headers that propagate the trace to the upstream. */
  traceHeaders(): Record<string, string> {
    const headers: Record<string, string> = {};
    const active = context.active();
    propagation.inject(this.#span === undefined ? active : trace.setSpan(active, this.#span), headers);
    return headers;
  }

  /** Records a message on its way to the consumer. */
  observe(message: GenerateResponse): void {
    if (!this.#sawFirst && message.accepted === undefined) {
      this.#sawFirst = true;
      this.#span?.setAttribute(attribute.timeToFirstChunk, (this.clock.monotonicMs() - this.#startedAtMs) / 1000);
    }
    for (const { event } of message.events) {
      if (event?.$case === 'started') {
        const { upstreamReportedModel, upstreamRequestId } = event.value;
        this.#span?.setAttributes({ [attribute.responseModel]: upstreamReportedModel, [attribute.responseId]: upstreamRequestId });
      } else if (event?.$case === 'finished') {
        this.#finished = true;
        this.#span?.setAttribute(attribute.finishReasons, [StopReason[event.value.stopReason].replace('STOP_REASON_', '').toLowerCase()]);
        this.#span?.setAttribute(attribute.usageReported, event.value.usageReported);
        this.#usage(event.value.usage);
      }
    }
  }

  /** Marks the attempt as failed. */
  fail(error: unknown): void {
    this.#failed = true;
    const { reason, message } = toAppError(error);
    this.#span?.setAttribute(attribute.errorType, reason);
    this.#span?.setStatus({ code: SpanStatusCode.ERROR, message });
    if (this.#span !== undefined) addException(this.#span, error);
  }

  /** Ends the span, whatever the outcome of the attempt. */
  end(): void {
    // Neither finished nor failed: the consumer disconnected.
    if (!this.#finished && !this.#failed) this.#span?.setAttribute(attribute.errorType, 'cancelled');
    const { status } = this.facts.note;
    if (status !== undefined) this.#span?.setAttribute(attribute.httpStatus, status);
    this.#span?.end();
  }

  #usage(usage: GenerateResponse['usageSoFar']): void {
    if (usage === undefined) return;
    this.#span?.setAttributes({
      [attribute.inputTokens]: totalInput(usage),
      [attribute.outputTokens]: usage.outputTokens,
      [attribute.cacheReadTokens]: usage.cacheReadTokens,
      [attribute.cacheWriteTokens]: usage.cacheWrite5mTokens + usage.cacheWrite1hTokens,
      [attribute.reasoningTokens]: usage.reasoningTokens,
    });
  }
}
