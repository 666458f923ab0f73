// POST /v1/messages/count_tokens and /v1/responses/input_tokens: count the input tokens of a request, free of charge.
import type { Context, Middleware } from 'koa';
import { callContext } from '#client/call-context.js';
import { reportNames } from '../http/dropped-fields.js';
import type { FormatHeaders, ParsedCount } from '../formats/format.js';
import { parseCountTokens } from '../formats/messages/request.js';
import { parseInputTokens } from '../formats/responses/request.js';
import { referencesOf } from '../formats/responses/stored.js';
import { disconnectSignal } from '../http/disconnect-signal.js';
import { assertFits, assertPermitted, assertReads, assertReturns } from '../call/admission/model-checks.js';
import { readJsonBody } from '../http/middleware/json-body.js';
import { noteRequestedModel, stateOf } from '../http/request-state.js';
import { type GenerateDeps, ownerOf, storedInput } from './generate.js';
import { betasOf, versionOf } from './version.js';

/** How a format counts. */
interface Counting {
  parse(body: unknown, headers: FormatHeaders): ParsedCount;
  readonly references?: typeof referencesOf;
  answer(inputTokens: number): unknown;
}

const countings: Readonly<Record<'messages' | 'responses', Counting>> = {
  messages: { parse: parseCountTokens, answer: (tokens) => ({ input_tokens: tokens }) },
  responses: {
    parse: parseInputTokens,
    references: referencesOf,
    answer: (tokens) => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
};

/** Creates the route of one format. */
export function countTokens(format: keyof typeof countings, { peers, models, config, storedResponses }: GenerateDeps): Middleware {
  const counting = countings[format];
  return async (ctx: Context) => {
    const body = await readJsonBody(ctx, config.bodyBytesMax, (outline) => assertFits(outline, models));
    noteRequestedModel(ctx, body.value);
    const stored = await storedInput(counting, ownerOf(ctx), body.value, storedResponses);
    const headers = { version: versionOf(ctx), betas: betasOf(ctx), originator: ctx.get('originator') };
    const parsed = counting.parse(body.value, { ...headers, stored });
    const { model, targets } = models.resolve(parsed.model);
    const { key, project } = stateOf(ctx);
    assertPermitted({ key: key!, project }, model);
    assertReturns(model, false);
    assertReads(model, parsed.needs);
    const counted = await peers.inference.countTokens(
      { ...parsed.request, targets: [...targets] },
      callContext({ caller: 'gateway', timeoutMs: config.callTimeoutMs, signal: disconnectSignal(ctx.res) }),
    );
    reportNames(ctx, parsed.droppedFields);
    if (counted.estimated) ctx.set('x-tollgate-estimated', 'true');
    ctx.body = counting.answer(counted.inputTokens);
  };
}
