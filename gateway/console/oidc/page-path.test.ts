import { describe, expect, it } from '@jest/globals';
import { pagePath } from './page-path.js';

describe('the page after a sign-in', () => {
  it.each(['usage', 'accounts/acct_1/usage/records?key=key_1&from=2026-01-01T00:00:00Z', 'settings', 'models/acme.one'])(
    'may be %s',
    (path) => {
      expect(pagePath(path)).toBe(path);
      expect(new URL(`../../${path}`, 'https://ours.example/sub/console/api/oidc/callback').href).toBe(
        `https://ours.example/sub/console/${path}`,
      );
    },
  );

  it.each([
    '',
    '/',
    '//evil.example',
    'https://evil.example',
    'https:evil',
    '\\\\evil.example',
    '/\\evil.example',
    '../admin',
    'a/../../b',
    'a/..',
    './a',
    'a//evil',
    'javascript:alert(1)',
    'a\r\nset-cookie: b',
    'a#b',
    'x'.repeat(501),
  ])('is not %j', (path) => expect(pagePath(path)).toBe(''));
});
