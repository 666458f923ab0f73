// Signatures of requests, verified by libraries that implement the Standard Webhooks specification.
import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { newSigningSecret, signatureHeaders } from './signature.js';

const body = '{"id":"evt_1","type":"balance.low"}';
const [current, previous, other] = [newSigningSecret(), newSigningSecret(), newSigningSecret()];
const openai = new OpenAI({ apiKey: 'unused' });
const anthropic = new Anthropic({ apiKey: 'unused' });

const headersAt = (nowMs: number): Record<string, string> =>
  signatureHeaders({ eventId: 'evt_1', body, secrets: [current, previous], nowMs });

describe('a signature', () => {
  it.each([current, previous])('is accepted by the libraries of two vendors, with either secret', async (secret) => {
    const headers = headersAt(Date.now());
    await openai.webhooks.verifySignature(body, headers, secret);
    expect(anthropic.beta.webhooks.unwrap(body, { headers, key: secret })).toMatchObject({ type: 'balance.low' });
  });

  it.each([
    ['another body', `${body} `, headersAt(Date.now()), current],
    ['another secret', body, headersAt(Date.now()), other],
    ['another id', body, { ...headersAt(Date.now()), 'webhook-id': 'evt_2' }, current],
    ['a replay, six minutes later', body, headersAt(Date.now() - 360_000), current],
  ])('is rejected for %s', async (_what, signed, headers, secret) => {
    await expect(openai.webhooks.verifySignature(signed, headers, secret)).rejects.toThrow();
    expect(() => anthropic.beta.webhooks.unwrap(signed, { headers, key: secret })).toThrow();
  });

  it('has a secret of 32 random bytes', () => {
    expect(Buffer.from(current.replace('whsec_', ''), 'base64')).toHaveLength(32);
  });
});
