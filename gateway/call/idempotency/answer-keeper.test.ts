import { describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Event, GenerateResponse, StopReason } from '#proto/inference/v1/inference.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { UsageRecord } from '#proto/metering/v1/metering.js';
import { AppError } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { chatCompletions } from '../../formats/chat-completions/index.js';
import type { Format } from '../../formats/format.js';
import { messages } from '../../formats/messages/index.js';
import { nativeChatAnswers, nativeMessageAnswers } from '../../formats/testing/native-answers.js';
import type { CallStep } from '../metered-call.js';
import { AnswerKeeper, replayedCall } from './answer-keeper.js';

const secret = randomBytes(32);
const bytesMax = 100_000;
const event = (value: object): Event => Event.fromPartial(value);
const delta = (text: string): Event =>
  event({ event: { $case: 'blockDelta', value: { index: 0, delta: { $case: 'text', value: text } } } });
const begun = [
  event({ event: { $case: 'started', value: {} } }),
  event({ event: { $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } } }),
];
const finished = event({ event: { $case: 'finished', value: { stopReason: StopReason.STOP_REASON_END } } });
const batches = [begun, ...Array.from({ length: 300 }, (_, index) => [delta(`wörd ${index} `), delta('"')]), [finished]];
const tokens = TokenCounts.fromPartial({ inputTokens: 7, cacheReadTokens: 2, outputTokens: 601 });
const record = UsageRecord.fromPartial({
  call: { id: newId('req'), modelId: 'm', outputCapTokens: 1000, startedAtMs: 1_800_000_000_000n },
  tokens,
});

/** Returns the body that a route builds from these events. */
function wholeOf(format: Format, events: readonly Event[]): string {
  const collector = format.collector({ requestId: record.call!.id, model: 'm', createdAtMs: 0, includeUsage: true });
  collector.push(events);
  return JSON.stringify(collector.finish(tokens));
}

async function keep(parts: readonly Event[][], error?: AppError, max = bytesMax): Promise<Buffer> {
  const keeper = new AnswerKeeper(Buffer.alloc(32), secret, max);
  parts.forEach((events, index) =>
    keeper.take(GenerateResponse.fromPartial({ events }), index === 0 ? TokenCounts.fromPartial({ inputTokens: 9 }) : tokens),
  );
  return keeper.answer(error, false);
}

async function replay(answer: Buffer, using = secret, choices = 0): Promise<{ steps: CallStep[]; error: unknown }> {
  const steps: CallStep[] = [];
  try {
    for await (const step of replayedCall(record, choices, answer, using, bytesMax)) steps.push(step);
    return { steps, error: undefined };
  } catch (error) {
    return { steps, error };
  }
}

/** Returns the frames that a route builds from these events. */
function framesOf(format: Format, parts: readonly (readonly Event[])[], inputTokens: number): string {
  const encoder = format.stream({
    requestId: record.call!.id,
    model: 'm',
    createdAtMs: 0,
    includeUsage: true,
    inputEstimate: TokenCounts.fromPartial({ inputTokens }),
  });
  return parts.map((events) => encoder.push(events)).join('') + encoder.finish(tokens);
}

describe('a kept answer', () => {
  it.each([chatCompletions, messages])('is replayed as the same stream, byte for byte: $name', async (format) => {
    const { steps, error } = await replay(await keep(batches));
    expect(error).toBeUndefined();
    expect(steps[0]).toEqual({
      kind: 'admitted',
      modelId: 'm',
      fallback: undefined,
      outputCapTokens: 1000,
      startedAtMs: 1_800_000_000_000,
    });
    expect(steps.at(-1)).toEqual({ kind: 'recorded', recorded: { tokens, record } });
    const events = steps.filter((step) => step.kind === 'events');
    expect(
      framesOf(
        format,
        events.map((step) => step.events),
        events[0]!.tokens.inputTokens,
      ),
    ).toBe(framesOf(format, batches, 9));
  });

  it.each([
    [chatCompletions, nativeChatAnswers],
    [messages, nativeMessageAnswers],
  ])('is replayed with the fields that only its format has: $name', async (format, answers) => {
    await fc.assert(
      fc.asyncProperty(answers, async (given) => {
        const events = given.map((one) => event(one));
        const { steps } = await replay(await keep([events.slice(0, 2), events.slice(2)]));
        const replayed = steps.flatMap((step) => (step.kind === 'events' ? step.events : []));
        expect(framesOf(format, [replayed], 9)).toBe(framesOf(format, [events], 9));
        expect(wholeOf(format, replayed)).toBe(wholeOf(format, events));
      }),
      { numRuns: 50 },
    );
  });

  it('is what came after the last restart', async () => {
    const keeper = new AnswerKeeper(Buffer.alloc(32), secret, 2000);
    keeper.take(GenerateResponse.fromPartial({ events: [...begun, delta('x'.repeat(2001))] }), tokens);
    keeper.restart();
    keeper.take(GenerateResponse.fromPartial({ events: [...begun, delta('y'), finished] }), tokens);
    const { steps } = await replay(await keeper.answer(undefined, false));
    expect(steps.flatMap((step) => (step.kind === 'events' ? step.events : []))).toEqual([...begun, delta('y'), finished]);
  });

  it('of several choices is replayed with the cap of each', async () => {
    const { steps } = await replay(await keep(batches), secret, 3);
    expect(steps[0]).toMatchObject({ kind: 'admitted', outputCapTokens: 333 });
  });

  it('still lists the fields that had no effect', async () => {
    const first = event({ event: { $case: 'started', value: { droppedFields: ['seed', 'top_k'] } } });
    const { steps } = await replay(await keep([[first], [finished]]));
    expect(steps[1]).toMatchObject({ kind: 'events', events: [{ event: { value: { droppedFields: ['seed', 'top_k'] } } }, {}] });
  });

  it('ends with the same error', async () => {
    const { steps, error } = await replay(
      await keep(batches.slice(0, 5), new AppError('upstream_failed', 'It broke.', { details: { field: 'x' } })),
    );
    expect(error).toMatchObject({ reason: 'upstream_failed', message: 'It broke.', details: { field: 'x' } });
    expect(steps.flatMap((step) => (step.kind === 'events' ? step.events : []))).toEqual(batches.slice(0, 5).flat());
  });

  it('is stored encrypted, and decrypted only with its key', async () => {
    const text = 'secret text '.repeat(50);
    const box = await keep([[delta(text)], [finished]]);
    expect(box.length).toBeLessThan(text.length);
    expect(box.includes('secret')).toBe(false);
    expect((await replay(box, randomBytes(32))).error).toHaveProperty('message', expect.stringContaining('authenticate'));
    box[box.length - 1]! ^= 1;
    expect((await replay(box)).error).toHaveProperty('message', expect.stringContaining('authenticate'));
  });

  it('is empty when it is too large, in one batch or in many', async () => {
    expect(await keep([[delta('x'.repeat(1001))]], undefined, 1000)).toHaveLength(0);
    expect(await keep(batches, undefined, 1000)).toHaveLength(0);
    expect((await keep(batches)).length).toBeGreaterThan(0);
  });
});
