import { describe, expect, it } from '@jest/globals';
import { browserName } from './user-agent.js';

const webkit = 'AppleWebKit/537.36 (KHTML, like Gecko)';

describe('the browser of a session', () => {
  it.each([
    [`Mozilla/5.0 (X11; Linux x86_64) ${webkit} Chrome/140.0.0.0 Safari/537.36`, 'Chrome 140 · Linux'],
    [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${webkit} Chrome/140.0.0.0 Safari/537.36 Edg/140.0.1`, 'Edge 140 · Windows'],
    ['Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox 140 · macOS'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1',
      'Safari 18 · iOS',
    ],
    [`Mozilla/5.0 (Linux; Android 15) ${webkit} Chrome/140.0.0.0 Mobile Safari/537.36`, 'Chrome 140 · Android'],
    ['curl/8.5.0', 'curl 8'],
    ['node', undefined],
    ['', undefined],
  ])('%s', (userAgent, name) => expect(browserName(userAgent)).toBe(name));
});
