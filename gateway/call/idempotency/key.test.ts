import { describe, expect, it } from '@jest/globals';
import { answerSecretOf, fingerprintOf, idempotencyKeyOf, keyHashOf } from './key.js';

describe('an Idempotency-Key', () => {
  it.each(['a', '8e03978e-40d5-43dd-bc93-6894a57f9324', '"quoted"', '~!#', 'x'.repeat(255)])('may be %s', (key) => {
    expect(idempotencyKeyOf({ 'idempotency-key': key })).toBe(key);
  });

  it.each([[''], ['two words'], ['one, two'], ['tab\t'], ['naïve'], ['x'.repeat(256)], [['one', 'two']]])('may not be %j', (key) => {
    expect(() => idempotencyKeyOf({ 'idempotency-key': key })).toThrow(
      expect.objectContaining({ reason: 'invalid_request', details: { field: 'idempotency-key' } }),
    );
  });

  it('may be omitted', () => {
    expect(idempotencyKeyOf({})).toBeUndefined();
  });

  it('has a different hash at each endpoint, and a different secret for each call', () => {
    expect(keyHashOf('messages', 'k')).not.toEqual(keyHashOf('chat-completions', 'k'));
    expect(keyHashOf('messages', 'k')).toEqual(keyHashOf('messages', 'k'));
    expect(answerSecretOf('k', 'req_1')).not.toEqual(answerSecretOf('k', 'req_2'));
    expect(answerSecretOf('k', 'req_1')).not.toEqual(answerSecretOf('l', 'req_1'));
  });
});

describe('the fingerprint of a request', () => {
  const body = { model: 'm', messages: [{ role: 'user', content: 'a' }], n: 1 };

  it('does not depend on the order of fields', () => {
    expect(fingerprintOf({ n: 1, messages: [{ content: 'a', role: 'user' }], model: 'm' }, 'v')).toEqual(fingerprintOf(body, 'v'));
  });

  it.each<[string, unknown, string]>([
    ['a value', { ...body, n: 2 }, 'v'],
    ['the type of a value', { ...body, n: '1' }, 'v'],
    ['a field', { ...body, top_p: null }, 'v'],
    ['a header', body, 'w'],
    ['the order of a list', { ...body, messages: [{ role: 'user', content: 'b' }, ...body.messages] }, 'v'],
    ['a field of an unusual name', JSON.parse('{"model":"m","messages":[{"role":"user","content":"a"}],"n":1,"__proto__":1}'), 'v'],
  ])('changes with %s', (_what, other, version) => {
    expect(fingerprintOf(other, version)).not.toEqual(fingerprintOf(body, 'v'));
  });
});
