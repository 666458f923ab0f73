import { describe, expect, it, jest } from '@jest/globals';
import { exactCharsMax } from '#rules/wire/answer-text.js';
import { GenerateRequest } from '#proto/inference/v1/inference.js';
import { textRequest } from '../testing/fixtures.js';
import { readable } from '../testing/readable.js';
import { CountPool } from './count-pool.js';
import { Meter } from './meter.js';
import { estimateInput, roughInput, unknownRecipient } from './estimate.js';
import { inputTokensMax } from './prompt-text.js';
import { countTexts } from './tokenizer.js';

// Starting a thread and loading the vocabulary take a while on a busy machine.
jest.setTimeout(60_000);

/**
 * Returns the CPU time that this thread takes for the work: the least of three times, because a collection of the whole heap may fall into one.
 * Time that other processes take does not count.
 */
async function leastCpuMs(work: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < 3; time += 1) {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

describe('our own count', () => {
  it('is exact for short texts, including control words', async () => {
    expect(await countTexts(['Hello world'])).toBe(2);
    expect(await countTexts(['<|endoftext|>'])).toBeGreaterThan(1);
    expect(await countTexts([])).toBe(0);
  });

  it('of a prompt adds a little for each message', async () => {
    expect(await estimateInput(readable(textRequest('Hello world').prompt!), 'm')).toBe(6);
  });

  it('of texts that become vectors adds nothing', async () => {
    const { prompt } = textRequest('Hello world');
    const [message] = prompt!.messages;
    const request = GenerateRequest.fromPartial({ prompt: { messages: [message!, message!] }, embedding: {} });
    expect((await new Meter(request, 'm', unknownRecipient).finish()).usage.inputTokens).toBe(4);
  });

  it('of a long text is close to the whole, and lets other work run meanwhile', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(4000);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const tokens = await countTexts([text]);
    clearInterval(timer);
    expect(Math.abs(tokens - 40_001)).toBeLessThan(100);
    // A count on this thread would let no timer run.
    expect(turns).toBeGreaterThan(0);
  });

  it('of a text crafted to be slow takes hardly any time of this thread', async () => {
    await countTexts(['warm up']);
    // Without a repetition, because the tokenizer remembers words.
    const oneLongWord = Array.from({ length: 400_000 }, (_, index) =>
      String.fromCharCode(97 + ((Math.imul(index, 2_654_435_761) >>> 13) % 26)),
    ).join('');
    expect(await leastCpuMs(() => countTexts([oneLongWord]))).toBeLessThan(50);
  });

  it('takes hardly any time of this thread, including the first use', async () => {
    // Without a repetition, because the tokenizer remembers words.
    const words = Array.from({ length: 100_000 }, (_, index) => (Math.imul(index, 2_654_435_761) >>> 0).toString(36));
    const count = async (): Promise<void> => {
      const pool = new CountPool();
      expect(await countTexts([words.join(' ')], pool)).toBeGreaterThan(190_000);
      await pool.close();
    };
    expect(await leastCpuMs(count)).toBeLessThan(100);
  });

  it('of a short text does not wait for all of a long one', async () => {
    const pool = new CountPool({ threadsMax: 1, waitingMax: 10 });
    const order: string[] = [];
    const long = countTexts(['word '.repeat(150_000)], pool).then(() => order.push('long'));
    const short = countTexts(['Hello world'], pool).then((tokens) => order.push(`short ${tokens}`));
    await Promise.all([long, short]);
    await pool.close();
    expect(order).toEqual(['short 2', 'long']);
  });

  it('is estimated once its time is up, also while it waits for the texts of others', async () => {
    const pool = new CountPool({ threadsMax: 1, waitingMax: 10 });
    // Letters without words take the tokenizer longest: each of these takes half a second.
    let state = 1;
    const letter = (): string => String.fromCharCode(0xe01 + (((state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) >>> 8) % 46));
    const others = Array.from({ length: 9 }, () => countTexts([Array.from({ length: 32_000 }, letter).join('')], pool));
    const startedAt = performance.now();
    expect(await countTexts(['Hello world again'], pool, 100)).toBe(5);
    expect(performance.now() - startedAt).toBeLessThan(1000);
    await pool.close();
    await Promise.all(others);
  });

  it('is estimated if too many wait, or if the thread ends', async () => {
    const pool = new CountPool({ threadsMax: 1, waitingMax: 1 });
    const counts = Promise.all(['a b c d', 'a b c d', 'a b c d'].map((text) => countTexts([text], pool)));
    expect(await counts).toEqual([4, 4, 2]);
    // Long enough that the thread cannot have counted all of it before it ends; the estimate is higher.
    const long = 'x'.repeat(200_000);
    const lost = countTexts([long], pool);
    await pool.close();
    expect(await lost).toBeGreaterThan(await countTexts([long]));
    expect(await countTexts(['a b c d'], pool)).toBe(4);
    await pool.close();
  });

  it('of many short texts is the sum of each', async () => {
    const texts = Array.from({ length: 3000 }, (_, index) => `tool ${index % 10}`);
    expect(await countTexts(texts)).toBe(3000 * (await countTexts(['tool 1'])));
  });

  it('beyond its bound is estimated, not counted', async () => {
    const startedAt = performance.now();
    expect(await countTexts(['\n'.repeat(exactCharsMax), 'x'.repeat(4_000_000)])).toBeGreaterThanOrEqual(1_000_000);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

describe('bounds', () => {
  it('on input are above every way of counting', async () => {
    for (const text of ['', 'x', 'Grüße 👋🏽', '\n'.repeat(500), 'word '.repeat(500)]) {
      const read = readable(textRequest(text).prompt!);
      for (const model of ['gpt-5', 'claude-opus-5-5']) {
        expect(roughInput(read, model)).toBeLessThanOrEqual(inputTokensMax(read.prompt));
        expect(await estimateInput(read, model)).toBeLessThanOrEqual(inputTokensMax(read.prompt));
      }
    }
  });

  it('on output hold for our own count too', async () => {
    const meter = new Meter(textRequest('Hi', { maxOutputTokens: 10 }), 'm', unknownRecipient);
    const delta = {
      event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value: 'one two three '.repeat(100) } } },
    };
    meter.add([{ event: { $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } } }, delta]);
    expect(meter.soFar().usageSoFar?.outputTokens).toBe(10);
    expect((await meter.finish()).usage.outputTokens).toBe(10);
  });
});

describe('a meter', () => {
  it('uses reported input even if the output was never reported', async () => {
    const meter = new Meter(textRequest('Hi'), 'm', unknownRecipient);
    meter.report({ input: { inputTokens: 9, cacheReadTokens: 1, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 }, output: undefined }, false);
    const deltas = ['Hello', ' world'].map((value) => ({
      event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value } } },
    }));
    meter.add([
      { event: { $case: 'blockStart', value: { index: 0, block: { $case: 'reasoning', value: { redactedData: '' } } } } },
      ...deltas,
    ]);
    expect(meter.soFar().usageSoFar).toEqual({
      inputTokens: 9,
      cacheReadTokens: 1,
      cacheWrite5mTokens: 0,
      cacheWrite1hTokens: 0,
      outputTokens: 3,
      reasoningTokens: 3,
    });
    expect(await meter.finish()).toEqual({
      usage: { inputTokens: 9, cacheReadTokens: 1, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: 2, reasoningTokens: 2 },
      usageReported: false,
      usageFault: '',
    });
  });

  const deltasOf = (...values: string[]) =>
    values.map((value) => ({ event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value } } } }));
  const other = (countedText: string) => ({ event: { $case: 'foreign' as const, value: { json: '{}', countedText, isEnd: false } } });

  it('counts at least one token for each event with text', async () => {
    const meter = new Meter(textRequest('Hi'), 'm', unknownRecipient);
    meter.add(deltasOf(...'Hello world'));
    expect(meter.soFar().usageSoFar?.outputTokens).toBe(11);
    expect((await meter.finish()).usage.outputTokens).toBe(11);
  });

  const answers = ['One two three four five six seven eight nine ten.', ' Eleven twelve thirteen fourteen fifteen sixteen seventeen.'];
  const reported = (outputTokens: number, choices: number) => {
    const meter = new Meter(textRequest('Hi', { choices }), 'm', unknownRecipient);
    meter.add([...deltasOf(answers[0]!), other(answers[1]!)]);
    meter.report(
      {
        input: { inputTokens: 9, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 },
        output: { outputTokens, reasoningTokens: 0 },
      },
      true,
    );
    return meter.finish();
  };

  it('replaces a report of one answer for several by our own count', async () => {
    const [one, two] = [await countTexts([answers[0]!]), await countTexts([answers[1]!])];
    expect(await reported(one, 2)).toEqual({
      usage: expect.objectContaining({ inputTokens: 9, outputTokens: one + two }),
      usageReported: false,
      usageFault: 'output_below_count',
    });
    // The report of all answers is accepted, also by another tokenizer that needs fewer tokens, and so is that of a single answer.
    for (const [outputTokens, choices] of [
      [one + two, 2],
      [Math.ceil((one + two) * 0.7), 2],
      [one, 1],
    ] as const)
      expect(await reported(outputTokens, choices)).toMatchObject({ usage: { outputTokens }, usageReported: true, usageFault: '' });
  });
});
