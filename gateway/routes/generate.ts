// POST /v1/chat/completions, /v1/messages and /v1/responses: parse → metered call → response, streamed or whole.
import type { Context, Middleware } from 'koa';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import type { ModelFallback } from '#proto/metering/v1/metering.js';
import { toAppError } from '#client/errors/app-error.js';
import { formatUsd } from '#rules/money/money.js';
import type { AnswerContext, Format, ParsedCall, StoredInput, StoreFailure, StreamEncoder } from '../formats/format.js';
import { fingerprintOf, idempotencyKeyOf } from '../call/idempotency/key.js';
import type { Begun, KeyedCalls } from '../call/idempotency/keyed-calls.js';
import type { Retries } from '../call/retries/retries.js';
import type { Recorded } from '../call/recording/recorder.js';
import { retryCountOf } from '../call/retries/retry-key.js';
import { ResponseSink } from '../call/stored-responses/response-sink.js';
import type { Owner, StoredResponses } from '../call/stored-responses/stored-responses.js';
import { storeFailureOf } from '../call/stored-responses/store-failure.js';
import { responseId } from '../formats/responses/ids.js';
import { disconnectSignal, undeliveredSignal, whenRead, whenSent } from '../http/disconnect-signal.js';
import { readJsonBody } from '../http/middleware/json-body.js';
import { assertFits } from '../call/admission/model-checks.js';
import { type CallDeps, type CallRequest, type CallStep, meteredCall } from '../call/metered-call.js';
import type { CallLog } from '../prompt-log/call-log.js';
import type { PromptLogs } from '../prompt-log/prompt-logs.js';
import { limitHeaders } from '../limits/headers.js';
import { printable } from '../http/printable.js';
import { noteRequestedModel, stateOf } from '../http/request-state.js';
import { noteTiming, sendTiming } from '../http/server-timing.js';
import { createSseWriter } from '../http/sse.js';
import { droppedFieldsHeader, reportDroppedFields, reportNames } from '../http/dropped-fields.js';
import { betasOf, versionOf } from './version.js';

const formatCodes: Record<Format['name'], ApiFormat> = {
  'chat-completions': ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
  messages: ApiFormat.API_FORMAT_MESSAGES,
  embeddings: ApiFormat.API_FORMAT_EMBEDDINGS,
  responses: ApiFormat.API_FORMAT_RESPONSES,
};

/** What the routes of all formats need. */
export interface GenerateDeps extends CallDeps {
  readonly keyedCalls: KeyedCalls;
  readonly retries: Retries;
  readonly promptLogs: PromptLogs;
  readonly storedResponses: StoredResponses;
}

/** Returns why the response of a recorded call is not stored although it was to be. */
type StoreCheck = (recorded: Recorded) => Promise<StoreFailure | undefined> | undefined;

const noStore: StoreCheck = () => undefined;

/** Creates the route of one format. */
export function generate(format: Format, deps: GenerateDeps): Middleware {
  return async (ctx: Context) => {
    const state = stateOf(ctx);
    const owner = ownerOf(ctx);
    const { parsed, promptLog, repeat, version } = await readCall(ctx, format, owner, deps);
    const call: Omit<CallRequest, 'disconnected'> = {
      id: state.requestId,
      key: state.key!,
      project: state.project,
      accountRateLimits: state.accountRateLimits,
      budgets: state.budgets,
      accountTimeZone: state.accountTimeZone,
      onLimits: (figures) => ctx.set(limitHeaders(format.name, figures, deps.clock.nowMs())),
      onDropped: (fields) => reportNames(ctx, [...parsed.droppedFields, ...fields]),
      format: formatCodes[format.name],
      parsed,
      promptLog,
      clientRequestId: printable(ctx.get('x-request-id')).slice(0, 128),
      responseSink: parsed.storable === undefined ? undefined : new ResponseSink(deps.storedResponses, owner, format, parsed),
    };
    const calledAtMs = performance.now();
    const begun = repeat === undefined ? beginUnkeyed(ctx, format, call, version, deps) : deps.keyedCalls.begin(call, repeat);
    const { steps, callId } = begun instanceof Promise ? await begun : begun;

    if (callId !== call.id) {
      state.originalId = callId;
      ctx.set({ 'idempotency-replayed': 'true', 'x-tollgate-original-request-id': callId });
    }
    // The first step admits or refuses the call, before anything is sent upstream.
    const admitted = await steps.next();
    if (admitted.done === true || admitted.value.kind !== 'admitted') throw new Error('The first step of a call must be its admission.');
    noteTiming(ctx, 'hold', calledAtMs);
    const { modelId, fallback, outputCapTokens, startedAtMs } = admitted.value;
    state.isAdmitted = true;
    state.modelId = modelId;
    if (parsed.maxOutputTokens !== outputCapTokens) ctx.set('x-tollgate-output-cap', String(outputCapTokens));
    if (fallback !== undefined) ctx.set(fallbackHeaders(modelId, fallback));
    const answer = {
      requestId: callId,
      model: modelId,
      createdAtMs: startedAtMs,
      includeUsage: parsed.includeUsage,
      vectorEncoding: parsed.vectorEncoding,
      echo: parsed.echo,
    };
    const find = callId === call.id ? undefined : () => deps.storedResponses.find(owner, responseId(callId));
    const storeFailure: StoreCheck = parsed.storable === undefined ? noStore : (recorded) => storeFailureOf(recorded, find);
    if (parsed.streaming) await answerStreaming(ctx, format, steps, answer, { parsed, storeFailure }, deps);
    else await answerWhole(ctx, format, steps, answer, { parsed, storeFailure });
  };
}

function fallbackHeaders(modelId: string, { requestedModelId, budgetId, spentPercent }: ModelFallback): Record<string, string> {
  return {
    'x-tollgate-model': modelId,
    'x-tollgate-requested-model': requestedModelId,
    'x-tollgate-fallback-reason': `budget ${budgetId} of the project is ${spentPercent}% spent`,
  };
}

/**
 * Begins a call without an idempotency key. If its client library retries, the call may be one that it sent before. Calls from the playground
 * are never joined: they carry no platform key, so the calls of different users could not be told apart.
 */
function beginUnkeyed(
  ctx: Context,
  format: Format,
  call: Omit<CallRequest, 'disconnected'>,
  version: string,
  deps: GenerateDeps,
): Begun | Promise<Begun> {
  const { req, res } = ctx;
  const state = stateOf(ctx);
  const mayRepeat = deps.config.retryWaitMs > 0 && state.secret !== undefined;
  const retryCount = mayRepeat ? retryCountOf(req.headers) : undefined;
  if (retryCount === undefined) return { steps: meteredCall({ ...call, disconnected: disconnectSignal(res) }, deps), callId: call.id };
  return deps.retries.begin(call, {
    retryCount,
    disconnected: undeliveredSignal(req, res),
    format: format.name,
    version,
    credentials: `${ctx.get('x-api-key')} ${ctx.get('authorization')}`,
    hasReceived: () => state.hasReceived === true,
    onDelivered: (note) =>
      whenSent(req, res, (wasOpen) => {
        if (wasOpen) note();
      }),
  });
}

/**
 * Returns the call in the body of a request, how repeats of it are recognised if it has an idempotency key, and its log if its project has one. The
 * body itself is not returned: it may be large.
 */
async function readCall(
  ctx: Context,
  format: Format,
  owner: Owner,
  { config, models, promptLogs, storedResponses }: GenerateDeps,
): Promise<{ parsed: ParsedCall; promptLog: CallLog | undefined; version: string; repeat?: Parameters<KeyedCalls['begin']>[1] }> {
  const body = await readJsonBody(ctx, config.bodyBytesMax, (outline) => {
    // Each input of a request for vectors has the context of the model to itself.
    if (format.name !== 'embeddings') assertFits(outline, models);
  });
  noteRequestedModel(ctx, body.value);
  const version = versionOf(ctx);
  const headers = {
    accountId: stateOf(ctx).key!.accountId,
    version,
    betas: betasOf(ctx),
    originator: ctx.get('originator'),
    bodyText: body.text,
  };
  const stored = await storedInput(format, owner, body.value, storedResponses);
  const parsed = format.parse(body.value, { ...headers, stored });
  const promptLog = promptLogs.of(stateOf(ctx), body, format, parsed);
  const key = idempotencyKeyOf(ctx.req.headers);
  if (key === undefined) return { parsed, promptLog, version };
  const fingerprint = fingerprintOf(body.value, version, ...(parsed.request.native?.messagesBetas ?? []));
  return { parsed, promptLog, version, repeat: { key, endpoint: format.name, fingerprint } };
}

/** Returns what a body refers to; undefined where nothing is stored. */
export async function storedInput(
  format: Pick<Format, 'references'>,
  owner: Owner,
  body: unknown,
  stored: StoredResponses,
): Promise<StoredInput | undefined> {
  return format.references === undefined || !stored.isOn ? undefined : stored.referred(owner, format.references(body));
}

/** Returns who makes a request, for what is stored. */
export function ownerOf(ctx: Context): Owner {
  const { key, secret, bodies } = stateOf(ctx);
  return { accountId: key!.accountId, secret: secret ?? '', bodies };
}

/** Sends the whole answer at once, after it is recorded. */
async function answerWhole(
  ctx: Context,
  format: Format,
  steps: AsyncIterable<CallStep>,
  answer: AnswerContext,
  { parsed, storeFailure }: { readonly parsed: ParsedCall; readonly storeFailure: StoreCheck },
): Promise<void> {
  let collector = format.collector(answer);
  const startedAtMs = performance.now();
  let answeredAtMs = startedAtMs;
  for await (const step of steps) {
    if (step.kind === 'events') {
      reportDroppedFields(ctx, parsed.droppedFields, step.events);
      collector.push(step.events);
      answeredAtMs = performance.now();
    }
    if (step.kind === 'restarted') {
      collector = format.collector(answer);
      ctx.remove(droppedFieldsHeader);
    }
    if (step.kind === 'recorded') {
      const { record, tokens } = step.recorded;
      if (record !== undefined) ctx.set('x-tollgate-charge-usd', formatUsd(record.chargeNanoUsd));
      noteTiming(ctx, 'upstream', startedAtMs, answeredAtMs);
      noteTiming(ctx, 'record', answeredAtMs);
      sendJson(ctx, collector.finish(record?.tokens ?? tokens, await storeFailure(step.recorded)));
    }
  }
}

/** Sends a body without what Koa derives from a body of unknown type. */
function sendJson(ctx: Context, body: unknown): void {
  ctx.respond = false;
  // A call goes on without its client if a repeat of the request may ask for the answer.
  if (ctx.res.destroyed) return;
  const text = JSON.stringify(body);
  sendTiming(ctx);
  ctx.res.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': Buffer.byteLength(text) });
  ctx.res.end(text);
}

/** Sends each event as it arrives; the end only after it is recorded. */
async function answerStreaming(
  ctx: Context,
  format: Format,
  steps: AsyncIterable<CallStep>,
  answer: AnswerContext,
  { parsed, storeFailure }: { readonly parsed: ParsedCall; readonly storeFailure: StoreCheck },
  deps: CallDeps,
): Promise<void> {
  ctx.respond = false;
  const { requestId } = answer;
  const sse = createSseWriter(ctx.res, {
    headers: {},
    keepAlive: format.keepAlive,
    keepAliveIntervalMs: deps.config.keepAliveIntervalMs,
    slowReaderTimeoutMs: deps.config.slowReaderTimeoutMs,
  });
  let encoder: StreamEncoder | undefined;
  const startedAtMs = performance.now();
  try {
    for await (const step of steps) {
      if (step.kind === 'events') {
        encoder ??= format.stream({ ...answer, inputEstimate: step.tokens });
        const isFirst = !sse.hasBegun();
        if (isFirst) {
          reportDroppedFields(ctx, parsed.droppedFields, step.events);
          noteTiming(ctx, 'upstream', startedAtMs);
          sendTiming(ctx);
        }
        const written = sse.write(encoder.push(step.events));
        if (isFirst && sse.hasBegun()) whenRead(ctx.req, (isOpen) => (stateOf(ctx).hasReceived = isOpen));
        await written;
      } else if (step.kind === 'recorded') {
        const { record, tokens } = step.recorded;
        await sse.write(encoder!.finish(record?.tokens ?? tokens, await storeFailure(step.recorded)));
      }
    }
  } catch (error) {
    if (!sse.hasBegun()) {
      ctx.respond = true;
      throw error;
    }
    const shown = toAppError(error);
    stateOf(ctx).failure = shown;
    // A client that disconnects cancels its call, which needs no investigation.
    if (shown.reason !== 'cancelled') deps.log.warn({ err: error, request_id: requestId }, 'a stream ended with an error');
    await sse.write(encoder?.fail?.(shown) ?? format.errorFrame(shown, requestId));
  }
  sse.end();
}
