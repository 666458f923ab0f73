import { expect, it } from '@jest/globals';
import { isAllowableField } from './request-fields.js';

it.each(['top_a', 'max_completion_tokens', 'options.num_ctx', 'tools.web_search_20250305', 'anthropic-beta.context-1m-2025-08-07'])(
  '%s may be allowed',
  (path) => {
    expect(isAllowableField(path)).toBe(true);
  },
);

it.each([
  'n',
  'Max_Tokens',
  'options.max_completion_tokens',
  'provider.order',
  'options.num_predict',
  'generation.config.MAX_OUTPUT_TOKENS',
  'a.__proto__',
  'a..b',
  '',
])('%s may not be allowed, wherever it is in the path', (path) => {
  expect(isAllowableField(path)).toBe(false);
});
