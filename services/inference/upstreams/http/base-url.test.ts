import { describe, expect, it } from '@jest/globals';
import { parseBaseUrl, withVersionSegment } from './base-url.js';

describe('a base url', () => {
  it.each([
    ['https://api.example.com/v1', 'https://api.example.com/v1'],
    ['https://API.example.com:443/v1//', 'https://api.example.com/v1'],
    ['http://models.internal:8000', 'http://models.internal:8000'],
  ])('%s is kept as %s', (text, kept) => {
    expect(parseBaseUrl(text, false)).toBe(kept);
  });

  it.each([
    'api.example.com/v1',
    'ftp://example.com',
    'file:///etc/passwd',
    'https://user:secret@example.com/v1',
    'https://user@example.com/v1',
    'https://:secret@example.com/v1',
    'https://example.com/v1?key=1',
    'https://example.com/v1?',
    'https://example.com/v1#x',
    'http://127.0.0.1/v1',
    'http://2130706433/v1',
    'http://0x7f.1/v1',
    'http://[::1]/v1',
    `https://example.com/${'x'.repeat(2048)}`,
  ])('%s is refused', (text) => {
    expect(() => parseBaseUrl(text, false)).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: expect.objectContaining({ field: 'upstream.base_url' }) as unknown }),
    );
  });

  it('may be private by permission, but never link-local', () => {
    expect(parseBaseUrl('http://127.0.0.1:8000/v1', true)).toBe('http://127.0.0.1:8000/v1');
    expect(() => parseBaseUrl('http://169.254.169.254/latest', true)).toThrow('is link-local');
  });

  it("of a vendor's library gets the version segment that it omits", () => {
    expect(withVersionSegment('https://api.anthropic.com')).toBe('https://api.anthropic.com/v1');
    expect(withVersionSegment('https://proxy.example.com/anthropic/v1')).toBe('https://proxy.example.com/anthropic/v1');
  });
});
