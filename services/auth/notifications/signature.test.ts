import { createHmac } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { isSigned, signatureOf } from './signature.js';

const nowMs = 1_800_000_000_500;
const body = '{"type":"balance.low"}';
const header = signatureOf(body, 'whsec_a', nowMs);

describe('a signature', () => {
  it('is what the docs say, computed independently', () => {
    const digest = createHmac('sha256', 'whsec_a').update(`1800000000.${body}`).digest('hex');
    expect(header).toBe(`t=1800000000,v1=${digest}`);
    expect(isSigned(header, body, 'whsec_a', nowMs)).toBe(true);
  });

  it.each([
    ['another body', header, `${body} `, 'whsec_a', nowMs],
    ['another secret', header, body, 'whsec_b', nowMs],
    ['another time in it', header.replace('t=1800000000', 't=1800000001'), body, 'whsec_a', nowMs],
    ['a replay, six minutes later', header, body, 'whsec_a', nowMs + 360_000],
    ['a timestamp in the future', header, body, 'whsec_a', nowMs - 360_000],
    ['a changed digest', header.replace(/.$/, (digit) => (digit === '0' ? '1' : '0')), body, 'whsec_a', nowMs],
    ['nothing', '', body, 'whsec_a', nowMs],
    ['no digest', 't=1800000000', body, 'whsec_a', nowMs],
  ])('is rejected for %s', (_what, text, signed, secret, atMs) => {
    expect(isSigned(text, signed, secret, atMs)).toBe(false);
  });
});
