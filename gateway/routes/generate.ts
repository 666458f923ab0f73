// POST /v1/chat/completions and POST /v1/messages: parse → metered call → answer, streamed or whole.
import type { Context, Middleware } from 'koa';
import { Format as FormatCode } from '#proto/metering/v1/metering.js';
import { toAppError } from '#kit/errors/app-error.js';
import { formatUsd } from '#kit/money.js';
import type { AnswerContext, Format, ParsedCall, StreamEncoder } from '../formats/format.js';
import { leaving } from '../leaving.js';
import { readJson } from '../middleware/json-body.js';
import { type CallDeps, type CallRequest, type CallStep, meteredCall } from '../metered-call.js';
import { stateOf } from '../request-state.js';
import { createSseWriter } from '../sse.js';
import { versionOf } from './version.js';

const formatCodes: Record<Format['name'], FormatCode> = {
  'chat-completions': FormatCode.FORMAT_CHAT_COMPLETIONS,
  messages: FormatCode.FORMAT_MESSAGES,
};

/** Creates the route of one format. */
export function generate(format: Format, deps: CallDeps): Middleware {
  return async (ctx: Context) => {
    const state = stateOf(ctx);
    const parsed = format.parse(await readJson(ctx, deps.config.bodyBytesMax), { version: versionOf(ctx) });
    if (parsed.droppedFields.length > 0) ctx.set('x-tollgate-dropped-params', parsed.droppedFields.join(', ').slice(0, 1000));
    const call: CallRequest = {
      id: state.requestId,
      key: state.key!,
      format: formatCodes[format.name],
      parsed,
      clientRequestId: printable(ctx.get('x-request-id')).slice(0, 128),
      left: leaving(ctx.res),
    };
    const steps = meteredCall(call, deps);
    // The first step admits the call or refuses it, before anything is sent upstream.
    const admitted = await steps.next();
    if (admitted.done === true || admitted.value.kind !== 'admitted') throw new Error('A call begins by being admitted.');
    const { model, outputCapTokens } = admitted.value;
    state.modelId = model.id;
    if (parsed.maxOutputTokens !== outputCapTokens) ctx.set('x-tollgate-output-cap', String(outputCapTokens));
    const answer = { requestId: state.requestId, model: model.id, createdAtMs: deps.clock.nowMs(), includeUsage: parsed.includeUsage };
    if (parsed.streaming) await answerStreaming(ctx, format, steps, answer, deps);
    else await answerWhole(ctx, format, steps, answer, parsed);
  };
}

type Answer = Omit<AnswerContext, 'inputTokensEstimate'>;

/** The whole answer at once, after it is on record. */
async function answerWhole(ctx: Context, format: Format, steps: AsyncIterable<CallStep>, answer: Answer, parsed: ParsedCall): Promise<void> {
  const collector = format.collector({ ...answer, inputTokensEstimate: parsed.inputTokensMax });
  for await (const step of steps) {
    if (step.kind === 'events') collector.push(step.events);
    else if (step.kind === 'recorded') {
      const { record, tokens } = step.recorded;
      if (record !== undefined) ctx.set('x-tollgate-charge-usd', formatUsd(record.chargeNanoUsd));
      ctx.body = collector.finish(record?.tokens ?? tokens);
    }
  }
}

/** Each event as it comes; the end only after it is on record. */
async function answerStreaming(ctx: Context, format: Format, steps: AsyncIterable<CallStep>, answer: Answer, deps: CallDeps): Promise<void> {
  ctx.respond = false;
  const { requestId } = answer;
  const sse = createSseWriter(ctx.res, {
    headers: {},
    keepAlive: format.keepAlive,
    keepAliveIntervalMs: deps.config.keepAliveIntervalMs,
    slowReaderTimeoutMs: deps.config.slowReaderTimeoutMs,
  });
  let encoder: StreamEncoder | undefined;
  try {
    for await (const step of steps) {
      if (step.kind === 'events') {
        const { inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens } = step.tokens;
        encoder ??= format.stream({ ...answer, inputTokensEstimate: inputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens });
        await sse.write(encoder.push(step.events));
      } else if (step.kind === 'recorded') {
        await sse.write(encoder!.finish(step.recorded.record?.tokens ?? step.recorded.tokens));
      }
    }
  } catch (error) {
    if (!sse.hasBegun()) {
      ctx.respond = true;
      throw error;
    }
    const shown = toAppError(error);
    // A caller that leaves cancels its call, which is nothing to look into.
    if (shown.reason !== 'cancelled') deps.log.warn({ err: error, request_id: requestId }, 'a stream ended with an error');
    await sse.write(format.errorFrame(shown, requestId));
  }
  sse.end();
}

function printable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '');
}
