// For any answer, from upstreams of any format to callers of any format: text, reasoning, tool calls, their order, the stop reason and the usage arrive
// completely, streamed or not, however the bytes are split on the way.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from '#client/errors/app-error.js';
import { neverAborted } from '#client/call-context.js';
import { type Finished, GenerateResponse } from '#proto/inference/v1/inference.js';
import { signatureOfItem } from '#rules/wire/reasoning-seals.js';
import { framesOf } from '../../gateway/formats/testing/frames.js';
import { payloadReader } from '../../services/inference/upstreams/http/payload-reader.js';
import { SseReader } from '../../services/inference/upstreams/http/sse-reader.js';
import { relay } from '../../services/inference/upstreams/http/relay.js';
import { nativeFor } from '../../services/inference/upstreams/requests/native.js';
import { Watchdog } from '../../services/inference/upstreams/watchdog.js';
import type { WireName } from '../conformance/support/paths.js';
import { seenInStream, seenInWhole } from '../conformance/support/read-answer.js';
import type { Seen } from '../conformance/support/seen.js';
import { answersIn } from '../upstream/answers/answers.js';
import type { Json } from '../upstream/checks/check.js';
import { scriptsByModel } from '../upstream/fixtures.js';
import type { Block, Script, Usage } from '../upstream/script.js';
import { commonCall, formats, ways, wires } from './ways.js';

type End = 'natural' | 'max_tokens' | 'refusal';

/** An answer, and how it is sent over the wire. */
interface Answer {
  readonly blocks: readonly Block[];
  readonly end: End;
  readonly usage: Required<Usage>;
  readonly deltaChars: number;
  readonly interleaveToolCalls: boolean;
  /** Where the bytes are split, as shares of the whole. */
  readonly cuts: readonly number[];
}

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
const reasoning = fc.record({
  type: fc.constant('reasoning' as const),
  text: words,
  signature: fc.base64String({ minLength: 4, maxLength: 12 }),
});
const text = fc.record({ type: fc.constant('text' as const), text: words });
const call = fc.record({
  type: fc.constant('tool_call' as const),
  id: fc.uuid(),
  name: fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_-]{0,20}$/),
  arguments: fc.dictionary(words, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }).map((value) => JSON.stringify(value)),
});
const blocks = fc
  .tuple(
    fc.array(reasoning, { maxLength: 1 }),
    fc.array(text, { maxLength: 1 }),
    fc.uniqueArray(call, { maxLength: 3, selector: ({ id }) => id }),
  )
  .map((kinds): Block[] => kinds.flat())
  .filter((all) => all.length > 0);
const usage = fc
  .record({
    input: fc.integer({ min: 1, max: 2000 }),
    cacheRead: fc.nat(2000),
    cacheWrite5m: fc.nat(2000),
    cacheWrite1h: fc.nat(2000),
    output: fc.integer({ min: 1, max: 4000 }),
  })
  .chain((counts) => fc.nat(counts.output).map((share) => ({ ...counts, reasoning: share })));
const answer: fc.Arbitrary<Answer> = fc
  .record({
    blocks,
    end: fc.constantFrom<End>('natural', 'max_tokens', 'refusal'),
    usage,
    deltaChars: fc.integer({ min: 1, max: 12 }),
    interleaveToolCalls: fc.boolean(),
    cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 30 }),
  })
  // An answer that a filter ended has no tool calls.
  .map((each) =>
    each.end === 'refusal' && each.blocks.some(({ type }) => type === 'tool_call') ? { ...each, end: 'natural' as const } : each,
  );

const labels: Readonly<Record<WireName, Readonly<Record<Exclude<End, 'natural'>, string>>>> = {
  'chat-completions': { max_tokens: 'length', refusal: 'content_filter' },
  messages: { max_tokens: 'max_tokens', refusal: 'refusal' },
  responses: { max_tokens: 'max_output_tokens', refusal: 'content_filter' },
};

function scriptFor(upstream: WireName, { blocks: said, end, ...wire }: Answer): Script {
  return {
    blocks: said,
    ...(end === 'natural' ? {} : { stopReason: labels[upstream][end] }),
    usage: wire.usage,
    deltaChars: wire.deltaChars,
    interleaveToolCalls: wire.interleaveToolCalls,
  };
}

function bodyOf(client: WireName, said: readonly Block[]): Json {
  const names = [...new Set(said.flatMap((block) => (block.type === 'tool_call' ? [block.name] : [])))];
  const schema = { type: 'object', properties: {} };
  const messages = [{ role: 'user', content: 'Go on.' }];
  if (client === 'messages')
    return { model: 'm', max_tokens: 4000, messages, tools: names.map((name) => ({ name, input_schema: schema })) };
  if (client === 'responses')
    return {
      model: 'm',
      max_output_tokens: 4000,
      input: messages,
      stream: true,
      include: ['reasoning.encrypted_content'],
      tools: names.map((name) => ({ type: 'function', name, parameters: schema, strict: false })),
    };
  return {
    model: 'm',
    max_completion_tokens: 4000,
    messages,
    stream: true,
    stream_options: { include_usage: true },
    ...(names.length === 0 ? {} : { tools: names.map((name) => ({ type: 'function', function: { name, parameters: schema } })) }),
  };
}

const target = { upstreamId: 'u', upstreamModel: 'm' };

async function* cutAt(bytes: Uint8Array, shares: readonly number[]): AsyncGenerator<Uint8Array> {
  const points = [...new Set([0, ...shares.map((share) => Math.floor(share * bytes.length)), bytes.length])].sort(
    (one, other) => one - other,
  );
  for (const [index, point] of points.slice(1).entries()) yield bytes.subarray(points[index], point);
}

/** Returns what the gateway receives from inference, encoded as between processes; the upstream streams the answer or sends it whole. */
function relayed(
  client: WireName,
  upstream: WireName,
  given: Answer,
  cuts: readonly number[],
  streams = true,
): Promise<GenerateResponse[]> {
  return relayedScript({ client, upstream, body: bodyOf(client, given.blocks) }, scriptFor(upstream, given), { cuts, streams });
}

async function relayedScript(
  { client, upstream, body: asked }: { client: WireName; upstream: WireName; body: Json },
  script: Script,
  { cuts, streams }: { cuts: readonly number[]; streams: boolean },
): Promise<GenerateResponse[]> {
  const wire = wires[upstream];
  const request = commonCall(client, asked);
  const sent = JSON.parse(wire.generateBody(request, 'm', streams).json) as Json;
  expect([sent['stream'], 'stream_options' in sent]).toEqual([streams ? true : undefined, streams && upstream === 'chat-completions']);
  const { frames, whole } = answersIn[upstream];
  const bytes = Buffer.from(streams ? frames(script, sent).join('') : JSON.stringify(whole(script, sent)));
  const decoder = wire.decoder(request, {
    target,
    requestId: '',
    droppedFields: [],
    isNative: nativeFor(request, wire.format) !== undefined,
  });
  const watchdog = new Watchdog(neverAborted);
  const limits = { responseBytesMax: 1 << 24, idleTimeoutMs: 10_000 };
  try {
    const batches: GenerateResponse[] = [];
    for await (const batch of relay({
      request,
      target,
      upstream: wire,
      decoder,
      reader: payloadReader({ 'content-type': streams ? 'text/event-stream' : 'application/json' }, 1 << 20),
      hasBody: true,
      chunks: cutAt(bytes, cuts),
      watchdog,
      limits,
    })) {
      if (batch.accepted === undefined) batches.push(GenerateResponse.decode(GenerateResponse.encode(batch).finish()));
    }
    return batches;
  } finally {
    watchdog.end(new AppError('cancelled', 'over'));
  }
}

const context = {
  requestId: 'req_0123456789abcdef0123456789abcdef',
  model: 'm',
  createdAtMs: 1_763_600_000_000,
  includeUsage: true,
  echo: { fields: {}, toolNames: new Map(), hasEncryptedContent: true },
};

function finalUsage(batches: readonly GenerateResponse[]): NonNullable<GenerateResponse['usageSoFar']> {
  const finished = finishedIn(batches);
  expect(finished).toMatchObject({ usageReported: true, usageFault: '' });
  return finished.usage!;
}

function finishedIn(batches: readonly GenerateResponse[]): Finished {
  const finished = batches.at(-1)?.events.at(-1)?.event;
  if (finished?.$case !== 'finished') throw new Error('The answer did not finish.');
  return finished.value;
}

function streamedTo(client: WireName, batches: readonly GenerateResponse[]): string {
  const encoder = formats[client].stream({ ...context, inputEstimate: batches[0]!.usageSoFar! });
  return batches.map(({ events }) => encoder.push(events)).join('') + encoder.finish(finalUsage(batches));
}

function wholeTo(client: WireName, batches: readonly GenerateResponse[], usageShown = finalUsage(batches)): Json {
  const collector = formats[client].collector(context);
  for (const { events } of batches) collector.push(events);
  return JSON.parse(JSON.stringify(collector.finish(usageShown))) as Json;
}

/** Returns the part of a signature that a caller sees. One format has no field for it, and one binds it to the id of its item. */
function signatureSeen(client: WireName, upstream: WireName, signature: string, index: number): string[] {
  if (upstream === 'chat-completions') return [];
  const isBound = upstream === 'responses' && client !== 'responses';
  return [isBound ? signatureOfItem({ id: `rs_${index}`, encryptedContent: signature }) : signature];
}

/** Returns what a caller must see. */
function expected(client: WireName, upstream: WireName, { blocks: said, end, usage: counts }: Answer): Partial<Seen> {
  const calls = said.flatMap((block) =>
    block.type === 'tool_call' ? [{ id: block.id, name: block.name, arguments: JSON.stringify(JSON.parse(block.arguments)) }] : [],
  );
  const texts = (type: 'text' | 'reasoning'): string => said.flatMap((block) => (block.type === type ? [block.text] : [])).join('');
  return {
    text: texts('text'),
    reasoning: texts('reasoning'),
    signatures: said.flatMap((block, index) =>
      block.type === 'reasoning' ? signatureSeen(client, upstream, block.signature!, index) : [],
    ),
    calls,
    stop: end === 'natural' ? (calls.length > 0 ? 'tool_calls' : 'end') : end,
    usage: {
      input: counts.input,
      cacheRead: counts.cacheRead,
      cacheWrite: counts.cacheWrite5m + counts.cacheWrite1h,
      output: counts.output,
      reasoning: counts.reasoning,
    },
    error: undefined,
  };
}

/** The names of the vendors' answers that succeed. Only callers of the format can read choices beyond the first. */
const answerable = Object.entries(scriptsByModel).filter(
  ([, script]) => script.fault === undefined && script.edit === undefined && script.blocks !== undefined,
);

/** message_start reports the input as far as it was known when the first bytes arrived. */
const withoutEstimate = (stream: string): string => stream.replace(/"usage":\{"input_tokens":.*/, '');

describe.each(ways.map(([client, upstream]) => [upstream, client] as const))('an answer from %s to %s', (upstream, client) => {
  it('arrives completely, streamed or not, however its bytes are split', async () => {
    await fc.assert(
      fc.asyncProperty(answer, async (given) => {
        const batches = await relayed(client, upstream, given, given.cuts);
        const stream = streamedTo(client, batches);
        const whole = wholeTo(client, batches);
        const frames = framesOf(stream);
        expect(seenInStream[client](frames, true)).toMatchObject(expected(client, upstream, given));
        expect(seenInWhole[client](whole)).toMatchObject(expected(client, upstream, given));
        const uncut = await relayed(client, upstream, given, []);
        expect(withoutEstimate(stream)).toBe(withoutEstimate(streamedTo(client, uncut)));
        expect(whole).toEqual(wholeTo(client, uncut));
      }),
      { numRuns: 18 },
    );
  });

  it('is the same for the caller whether the upstream streams it or sends it whole', async () => {
    await fc.assert(
      fc.asyncProperty(answer, async (given) => {
        const batches = await relayed(client, upstream, given, given.cuts, false);
        expect(batches).toHaveLength(1);
        const whole = wholeTo(client, batches);
        expect(whole).toEqual(wholeTo(client, await relayed(client, upstream, given, [])));
        expect(seenInWhole[client](whole)).toMatchObject(expected(client, upstream, given));
      }),
      { numRuns: 18 },
    );
  });

  it.each(answerable)('is the same for the caller whether the upstream streams %s or sends it whole', async (_name, script) => {
    // The messages format has no custom tools.
    if (upstream === 'messages' && script.blocks!.some((block) => block.type === 'tool_call' && block.custom === true)) return;
    const choices = script.otherChoices !== undefined && client === upstream && client === 'chat-completions' ? { n: 2 } : {};
    const call = { client, upstream, body: { ...bodyOf(client, script.blocks!), ...choices } };
    const streamed = await relayedScript(call, script, { cuts: [], streams: true });
    const whole = await relayedScript(call, script, { cuts: [0.3, 0.6], streams: false });
    expect(whole).toHaveLength(1);
    expect(finishedIn(whole).usageReported).toBe(finishedIn(streamed).usageReported);
    // Our own count is higher for a stream, because each of its events counts as at least one token.
    const usageShown = finishedIn(streamed).usage!;
    if (finishedIn(streamed).usageReported) expect(finishedIn(whole).usage).toEqual(usageShown);
    expect(wholeTo(client, whole, usageShown)).toEqual(wholeTo(client, streamed, usageShown));
  });

  it('is an error, and never looks complete, if it is cut off before its end', async () => {
    await fc.assert(
      fc.asyncProperty(answer, fc.double({ min: 0, max: 0.8, noNaN: true }), async (given, share) => {
        const error = await relayedUntil(client, upstream, given, share).catch((thrown: unknown) => thrown);
        expect(error).toBeInstanceOf(AppError);
        expect((error as AppError).reason).toBe('upstream_failed');
      }),
      { numRuns: 11 },
    );
  });
});

/** Returns the same for an upstream that dies after this share of its deltas. */
async function relayedUntil(client: WireName, upstream: WireName, given: Answer, share: number): Promise<void> {
  const wire = wires[upstream];
  const request = commonCall(client, bodyOf(client, given.blocks));
  const script = scriptFor(upstream, given);
  const sent = { model: 'm', stream_options: { include_usage: true } };
  const frames = answersIn[upstream].frames(script, sent);
  // The frames after the deltas end the answer.
  const kept = frames.slice(0, Math.floor((frames.length - (upstream === 'messages' ? 2 : 3)) * share));
  const decoder = wire.decoder(request, {
    target,
    requestId: '',
    droppedFields: [],
    isNative: false,
  });
  const watchdog = new Watchdog(neverAborted);
  try {
    const chunks = cutAt(Buffer.from(kept.join('')), given.cuts);
    const limits = { responseBytesMax: 1 << 24, idleTimeoutMs: 10_000 };
    for await (const batch of relay({
      request,
      target,
      upstream: wire,
      decoder,
      reader: new SseReader(1 << 20),
      hasBody: true,
      chunks,
      watchdog,
      limits,
    })) {
      expect(batch.events.some(({ event }) => event?.$case === 'finished')).toBe(false);
    }
  } finally {
    watchdog.end(new AppError('cancelled', 'over'));
  }
}
