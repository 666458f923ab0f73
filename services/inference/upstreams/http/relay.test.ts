import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AppError } from '#client/errors/app-error.js';
import { neverAborted } from '#client/call-context.js';
import type { GenerateResponse } from '#proto/inference/v1/inference.js';
import { completionFrames } from '../../../../tests/upstream/answers/chat-completions.js';
import { messageFrames } from '../../../../tests/upstream/answers/messages.js';
import type { Script } from '../../../../tests/upstream/script.js';
import { eventsOf, finishedOf, summary, textRequest } from '../../testing/fixtures.js';
import { roughTokens } from '../../tokens/prompt-text.js';
import { countTexts } from '../../tokens/tokenizer.js';
import { chatCompletionsWire } from '../chat-completions/wire.js';
import { messagesWire } from '../messages/wire.js';
import { Watchdog } from '../watchdog.js';
import { relay } from './relay.js';
import { SseReader } from './sse-reader.js';
import type { Wire } from './wire.js';

const request = textRequest('Hi');
const script: Script = {
  blocks: [
    { type: 'reasoning', text: 'Überlegen… 思考', signature: 'c2ln' },
    { type: 'text', text: 'Grüße 👋🏽 aus Köln' },
    { type: 'tool_call', id: 'a', name: 'f', arguments: '{"city":"東京"}' },
  ],
  usage: { input: 5, output: 9, reasoning: 2 },
  deltaChars: 3,
};
const body = { model: 'm', stream: true, stream_options: { include_usage: true } };

const formats: [string, Wire, string][] = [
  ['chat-completions', chatCompletionsWire('u', 'https://example.com/v1'), completionFrames(script, body).join('')],
  ['messages', messagesWire('u', 'https://example.com/v1'), messageFrames(script, body).join('')],
];

const target = { upstreamId: 'u', upstreamModel: 'm' };

async function* cut(bytes: Uint8Array, at: readonly number[]): AsyncGenerator<Uint8Array> {
  const points = [...new Set([0, ...at.map((point) => point % bytes.length), bytes.length])].sort((one, other) => one - other);
  for (const [index, point] of points.slice(1).entries()) yield bytes.subarray(points[index], point);
}

/** Yields the bytes, and then fails when the connection breaks or, if it stays open, when it is no longer waited for. */
async function* unended(bytes: Uint8Array, watchdog: Watchdog, end: 'broken' | 'open'): AsyncGenerator<Uint8Array> {
  yield bytes;
  if (end === 'broken') throw new Error('read ECONNRESET');
  throw await new Promise((resolve) => watchdog.onEnd(resolve));
}

async function relayed(
  wire: Wire,
  chunks: AsyncGenerator<Uint8Array> | ((watchdog: Watchdog) => AsyncGenerator<Uint8Array>),
  limits = { eventBytesMax: 10_000, responseBytesMax: 1_000_000, idleTimeoutMs: 1000 },
  messages: GenerateResponse[] = [],
): Promise<GenerateResponse[]> {
  const watchdog = new Watchdog(neverAborted);
  const decoder = wire.decoder(request, { target, requestId: '', droppedFields: [], isNative: false });
  const reader = new SseReader(limits.eventBytesMax);
  const source = typeof chunks === 'function' ? chunks(watchdog) : chunks;
  try {
    for await (const message of relay({
      request,
      target,
      upstream: wire,
      decoder,
      reader,
      hasBody: true,
      chunks: source,
      watchdog,
      limits,
    }))
      messages.push(message);
    return messages;
  } finally {
    watchdog.end(new AppError('cancelled', 'over'));
  }
}

describe.each(formats)('a stream in the %s format', (_name, wire, text) => {
  const whole = Buffer.from(text);

  it('gives the same events however its bytes are split', async () => {
    const expected = eventsOf(await relayed(wire, cut(whole, [])));
    expect(summary(expected)).toContain('Grüße 👋🏽 aus Köln');
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: whole.length - 1 }), { maxLength: 60 }), async (at) => {
        expect(eventsOf(await relayed(wire, cut(whole, at)))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
    expect(eventsOf(await relayed(wire, cut(whole, [...whole.keys()])))).toEqual(expected);
  });

  it('gives the same events with other line ends, comments and no blank line at the end', async () => {
    const expected = eventsOf(await relayed(wire, cut(whole, [])));
    for (const variant of [
      text.replaceAll('\n', '\r\n'),
      text.replaceAll('\n\n', '\n\n: keep-alive\n\n'),
      text.replaceAll('\n\n', '\n\nevent: nothing\n\ndata:\n\nid: 7\nretry: 10\n\n'),
      `\uFEFF${text}`,
      text.trimEnd(),
    ]) {
      expect(eventsOf(await relayed(wire, cut(Buffer.from(variant), [100, 200])))).toEqual(expected);
    }
  });

  it('yields one message for events that arrive together', async () => {
    expect(await relayed(wire, cut(whole, []))).toHaveLength(1);
    expect((await relayed(wire, cut(whole, [whole.length >> 1]))).length).toBe(2);
  });

  it('reports a running usage that never falls, and ends with the final one', async () => {
    const messages = await relayed(
      wire,
      cut(
        whole,
        Array.from({ length: 40 }, (_, index) => index * 97),
      ),
    );
    const outputs = messages.map(({ usageSoFar }) => usageSoFar!.outputTokens);
    expect(outputs.slice(0, -1)).toEqual(outputs.slice(0, -1).sort((one, other) => one - other));
    expect(outputs.at(-2)).toBeGreaterThan(0);
    expect(messages.every(({ usageSoFar }) => usageSoFar!.inputTokens > 0)).toBe(true);
    expect(messages.at(-1)!.usageSoFar).toEqual(finishedOf(messages).usage);
  });

  describe.each(['broken', 'open'] as const)('whose connection is %s after all content', (end) => {
    const frames = wire === formats[0]![1] ? completionFrames(script, body) : messageFrames(script, body);
    const limits = { eventBytesMax: 10_000, responseBytesMax: 1_000_000, idleTimeoutMs: 60_000 };

    it('is complete without the end marker', async () => {
      const cutOff = Buffer.from(`${frames.slice(0, -1).join('')}data: {"par`);
      const messages = await relayed(wire, (watchdog) => unended(cutOff, watchdog, end), limits);
      expect(eventsOf(messages)).toEqual(eventsOf(await relayed(wire, cut(whole, []))));
      expect(finishedOf(messages)).toMatchObject({ usageReported: true });
    });

    it('fails before the end of the content', async () => {
      const cutOff = Buffer.from(frames.slice(0, -4).join(''));
      const failing = relayed(wire, (watchdog) => unended(cutOff, watchdog, end), { ...limits, idleTimeoutMs: 50 });
      await expect(failing).rejects.toThrow(end === 'broken' ? 'ECONNRESET' : 'in time');
    });
  });

  it('that breaks off reports at the end the delivered tokens, counted exactly', async () => {
    const words = { blocks: [{ type: 'text' as const, text: 'internationalisation '.repeat(40) }], deltaChars: 21 };
    const frames = wire === formats[0]![1] ? completionFrames(words, body) : messageFrames(words, body);
    const messages: GenerateResponse[] = [];
    const chunks = cut(Buffer.from(frames.slice(0, 30).join('')), []);
    await expect(relayed(wire, chunks, undefined, messages)).rejects.toMatchObject({ reason: 'upstream_failed' });
    const delivered = eventsOf(messages)
      .map((event) => (event.$case === 'blockDelta' ? event.value.delta!.value : ''))
      .join('');
    expect(delivered.length).toBeGreaterThan(400);
    expect(messages.at(-1)).toMatchObject({ events: [], usageSoFar: { outputTokens: await countTexts([delivered]) } });
    expect(messages.at(-2)!.usageSoFar!.outputTokens).toBe(roughTokens(Buffer.byteLength(delivered)));
    expect(await countTexts([delivered])).not.toBe(roughTokens(Buffer.byteLength(delivered)));
  });

  describe('whose upstream reports output before it breaks off', () => {
    const isChat = wire === formats[0]![1];
    const text = 'internationalisation '.repeat(40);
    /** Returns the figures of a stream that reports so much before and after its text, and then breaks off. */
    const charged = async (early: number, late?: number | 'none') => {
      const reporting = (outputTokens: number | 'none', isEnd: boolean) =>
        isChat
          ? {
              choices: isEnd ? [{ index: 0, delta: {}, finish_reason: 'stop' }] : [],
              usage: outputTokens === 'none' ? null : { prompt_tokens: 5, completion_tokens: outputTokens },
            }
          : {
              type: 'message_delta',
              delta: { stop_reason: isEnd ? 'end_turn' : null },
              usage: outputTokens === 'none' ? null : { input_tokens: 5, output_tokens: outputTokens },
            };
      const content = isChat
        ? [{ choices: [{ index: 0, delta: { content: text } }] }]
        : [
            { type: 'content_block_start', index: 0, content_block: { type: 'text' } },
            { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
          ];
      const payloads = [reporting(early, false), ...content, ...(late === undefined ? [] : [reporting(late, true)])];
      async function* broken(): AsyncGenerator<Uint8Array> {
        for (const payload of payloads) yield Buffer.from(`data: ${JSON.stringify(payload)}\n\n`);
        throw new AppError('upstream_failed', 'reset');
      }
      const messages: GenerateResponse[] = [];
      const relaying = relayed(wire, broken(), undefined, messages);
      // Once the end has arrived, nothing is missing.
      if (late === undefined) await expect(relaying).rejects.toThrow('reset');
      else await relaying;
      const [running, last] = messages.filter(({ usageSoFar }) => usageSoFar!.outputTokens > 0).slice(-2);
      return { running: running!, charged: last!.usageSoFar!.outputTokens };
    };

    it('is charged by our count if the report is lower, as it came before the text', async () => {
      const { running, charged: tokens } = await charged(1);
      expect(tokens).toBe(await countTexts([text]));
      expect(running).toMatchObject({
        usageSoFar: { outputTokens: roughTokens(text.length) },
        outputReported: false,
        reportedOutput: { outputTokens: 1 },
      });
    });

    it('is charged by the report if that is higher, because it includes undelivered tokens', async () => {
      const { running, charged: tokens } = await charged(900);
      expect(tokens).toBe(900);
      expect(running).toMatchObject({ usageSoFar: { outputTokens: 900 }, outputReported: false, reportedOutput: { outputTokens: 900 } });
    });

    it('is charged by our count if the end came without a report', async () => {
      expect((await charged(1, 'none')).charged).toBe(await countTexts([text]));
    });

    it('is charged by the report that came with the end', async () => {
      expect((await charged(1, 30)).charged).toBe(30);
    });
  });

  it('ends at an event beyond the size limit, even before its end has arrived', async () => {
    const limits = { eventBytesMax: 1000, responseBytesMax: 1_000_000, idleTimeoutMs: 1000 };
    const endless = Buffer.from(`data: {"x":"${'x'.repeat(5000)}`);
    await expect(relayed(wire, cut(endless, [500, 1000, 2000]), limits)).rejects.toThrow('beyond the size limit');
    await expect(relayed(wire, cut(Buffer.from(`${endless.toString()}"}\n\n`), []), limits)).rejects.toThrow('beyond the size limit');
  });
});
