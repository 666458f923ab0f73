import { describe, expect, it } from '@jest/globals';
import { suggestedModel } from './suggested-model.js';

describe('the model to begin with', () => {
  it('is the one that answers without a vendor, and not one that fails on purpose', () => {
    expect(suggestedModel(['sandbox/drop', 'sandbox/echo', 'sandbox/fail-500'])).toBe('sandbox/echo');
  });

  it('is the first where that one may not be called', () => {
    expect(suggestedModel(['openai/gpt-4.1', 'sandbox/story'])).toBe('openai/gpt-4.1');
    expect(suggestedModel([])).toBeUndefined();
  });
});
