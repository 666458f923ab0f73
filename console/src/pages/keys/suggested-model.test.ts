import { describe, expect, it } from '@jest/globals';
import { suggestedModel } from './suggested-model.js';

describe('the model to begin with', () => {
  it('is the one that answers without a vendor, and not one that fails on purpose', () => {
    expect(suggestedModel(['sandbox/drop', 'sandbox/echo', 'sandbox/fail-500'])).toBe('sandbox/echo');
  });

  it('is another one that answers where the first is taken', () => {
    expect(suggestedModel(['sandbox/drop', 'sandbox/stall', 'sandbox/story'])).toBe('sandbox/story');
  });

  it('is the first where that one may not be called', () => {
    expect(suggestedModel(['openai/gpt-4.1', 'sandbox/stall'])).toBe('openai/gpt-4.1');
    expect(suggestedModel([])).toBeUndefined();
  });
});
