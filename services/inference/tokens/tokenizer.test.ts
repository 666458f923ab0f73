import { describe, expect, it } from '@jest/globals';
import { textRequest } from '../testing/fixtures.js';
import { Meter } from './meter.js';
import { inputTokensMax, roughInputTokens } from './prompt-text.js';
import { countPrompt, countTexts, exactCharsMax } from './tokenizer.js';

describe('our own count', () => {
  it('is exact for short texts, control words included', async () => {
    expect(await countTexts(['Hello world'])).toBe(2);
    expect(await countTexts(['<|endoftext|>'])).toBeGreaterThan(1);
    expect(await countTexts([])).toBe(0);
  });

  it('of a prompt adds a little for each message', async () => {
    expect(await countPrompt(textRequest('Hello world').prompt!)).toBe(6);
  });

  it('of a long text is close to the whole, and lets other work run meanwhile', async () => {
    const text = 'The quick brown fox jumps over the lazy dog. '.repeat(4000);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 1);
    const tokens = await countTexts([text]);
    clearInterval(timer);
    expect(Math.abs(tokens - 40_001)).toBeLessThan(100);
    expect(turns).toBeGreaterThan(2);
  });

  it('of a text made to be slow does not take long at a time', async () => {
    await countTexts(['warm up']);
    let longestGapMs = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      longestGapMs = Math.max(longestGapMs, performance.now() - last);
      last = performance.now();
    }, 1);
    await countTexts(['a'.repeat(40_000)]);
    clearInterval(timer);
    expect(longestGapMs).toBeLessThan(150);
  });

  it('beyond its bound is reckoned, not counted', async () => {
    const startedAt = performance.now();
    expect(await countTexts(['\n'.repeat(exactCharsMax), 'x'.repeat(4_000_000)])).toBeGreaterThanOrEqual(1_000_000);
    expect(performance.now() - startedAt).toBeLessThan(20_000);
  });
});

describe('bounds', () => {
  it('on input are above every way of counting', async () => {
    for (const text of ['', 'x', 'Grüße 👋🏽', '\n'.repeat(500), 'word '.repeat(500)]) {
      const { prompt } = textRequest(text);
      expect(roughInputTokens(prompt!)).toBeLessThanOrEqual(inputTokensMax(prompt!));
      expect(await countPrompt(prompt!)).toBeLessThanOrEqual(inputTokensMax(prompt!));
    }
  });

  it('on output hold for our own count too', async () => {
    const meter = new Meter(textRequest('Hi', { maxOutputTokens: 10 }));
    const delta = { event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value: 'one two three '.repeat(100) } } } };
    meter.add([{ event: { $case: 'blockStart', value: { index: 0, block: { $case: 'text', value: {} } } } }, delta]);
    expect(meter.soFar().outputTokens).toBe(10);
    expect((await meter.finish()).usage.outputTokens).toBe(10);
  });
});

describe('a meter', () => {
  it('takes input that was reported although the output never was', async () => {
    const meter = new Meter(textRequest('Hi'));
    meter.report({ input: { inputTokens: 9, cacheReadTokens: 1, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 }, output: undefined });
    const deltas = ['Hello', ' world'].map((value) => ({ event: { $case: 'blockDelta' as const, value: { index: 0, delta: { $case: 'text' as const, value } } } }));
    meter.add([{ event: { $case: 'blockStart', value: { index: 0, block: { $case: 'reasoning', value: { redactedData: '' } } } } }, ...deltas]);
    expect(meter.soFar()).toEqual({ inputTokens: 9, cacheReadTokens: 1, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: 3, reasoningTokens: 3 });
    expect(await meter.finish()).toEqual({
      usage: { inputTokens: 9, cacheReadTokens: 1, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0, outputTokens: 2, reasoningTokens: 2 },
      usageReported: false,
      usageFault: '',
    });
  });
});
