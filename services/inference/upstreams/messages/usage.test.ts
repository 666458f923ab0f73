import { describe, expect, it } from '@jest/globals';
import { MergedUsage } from './usage.js';

describe('usage in pieces', () => {
  it('keeps what was reported when a later piece is filled with zeros', () => {
    const usage = new MergedUsage();
    usage.mergeStart({ input_tokens: 10, cache_read_input_tokens: 20 });
    usage.mergeDelta({ output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } });
    usage.mergeDelta({ input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 0, output_tokens_details: { thinking_tokens: 0 } });
    expect(usage.report).toEqual({
      input: { inputTokens: 10, cacheReadTokens: 20, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 },
      output: { outputTokens: 9, reasoningTokens: 4 },
    });
  });

  it('counts input once that was estimated at the start and is cached by the end', () => {
    const usage = new MergedUsage();
    usage.mergeStart({ input_tokens: 2100, cache_read_input_tokens: 0, cache_creation_input_tokens: 0, output_tokens: 1 });
    usage.mergeDelta({ input_tokens: 0, cache_read_input_tokens: 1500, cache_creation_input_tokens: 500, output_tokens: 5 });
    expect(usage.report.input).toEqual({ inputTokens: 0, cacheReadTokens: 1500, cacheWrite5mTokens: 500, cacheWrite1hTokens: 0 });
  });

  it('keeps the input of the start if the end has zeros for it and repeats what was cached', () => {
    const usage = new MergedUsage();
    usage.mergeStart({ input_tokens: 10, cache_read_input_tokens: 20 });
    usage.mergeDelta({ input_tokens: 0, cache_read_input_tokens: 20, output_tokens: 5 });
    expect(usage.report.input).toMatchObject({ inputTokens: 10, cacheReadTokens: 20 });
  });
});
