import { describe, expect, it } from '@jest/globals';
import { suggestedModel } from './suggested-model.js';

describe('the suggested model', () => {
  it('is a sandbox model, but not one that fails on purpose', () => {
    expect(suggestedModel(['sandbox/drop', 'sandbox/echo', 'sandbox/fail-500'])).toBe('sandbox/echo');
  });

  it('is another sandbox model if the first is not available', () => {
    expect(suggestedModel(['sandbox/drop', 'sandbox/stall', 'sandbox/story'])).toBe('sandbox/story');
  });

  it('is the first model if no sandbox model may be called', () => {
    expect(suggestedModel(['openai/gpt-4.1', 'sandbox/stall'])).toBe('openai/gpt-4.1');
    expect(suggestedModel([])).toBeUndefined();
  });
});
