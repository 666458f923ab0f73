// What a messages upstream receives from a caller of the same format.
import { describe, expect, it } from '@jest/globals';
import { CountTokensRequest, type GenerateRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import { textRequest } from '../../testing/fixtures.js';
import { countTokensBody, messagesBody } from './request.js';
import { messagesWire } from './wire.js';

const wire = messagesWire('u', 'https://example.com/v1');
const nativeRequest = (fields: object, rest: Parameters<typeof textRequest>[1] = {}): GenerateRequest =>
  textRequest('Hi', { native: { format: ApiFormat.API_FORMAT_MESSAGES, fieldsJson: JSON.stringify(fields) }, ...rest });
const bodyOf = (request: GenerateRequest): unknown => JSON.parse(messagesBody(request, 'vendor-model').json);

const fields = {
  messages: [{ role: 'user', content: [{ type: 'novel_block', x: [1, { y: null }] }] }],
  system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
  temperature: 0.3,
  novelty: { deep: true },
};

describe('the body of a caller of the same format', () => {
  it('is the caller’s own except for our fields', () => {
    expect(bodyOf(nativeRequest(fields, { endUser: 'hash', maxOutputTokens: 77 }))).toEqual({
      model: 'vendor-model',
      max_tokens: 77,
      stream: true,
      metadata: { user_id: 'hash' },
      ...fields,
    });
    expect(messagesBody(nativeRequest(fields), 'm').dropped).toEqual([]);
  });

  it('keeps every character of the caller’s fields', () => {
    const text = '{"messages":[{"role":"user","content":"1e2 \\u00e9 \\\\ \\" 0.10"}],"top_p":0.10}';
    const request = nativeRequest({}, { native: { format: ApiFormat.API_FORMAT_MESSAGES, fieldsJson: text } });
    expect(messagesBody(request, 'm').json).toBe(`{"model":"m","max_tokens":1000,"stream":true,${text.slice(1)}`);
  });

  it('may request no output, and may have nothing else', () => {
    expect(bodyOf(nativeRequest({}, { maxOutputTokens: 0 }))).toEqual({ model: 'vendor-model', max_tokens: 0, stream: true });
    expect(messagesBody(nativeRequest(fields, { maxOutputTokens: 0 }), 'm').dropped).toEqual([]);
  });

  it('has no unsigned thinking, nor a message of nothing else', () => {
    const unsigned = { type: 'thinking', thinking: 'x', signature: '' };
    const signed = { type: 'thinking', thinking: '', signature: 'sig' };
    const said = { type: 'text', text: 'he wrote {"signature":""}' };
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: [unsigned] },
      { role: 'user', content: [said] },
      { role: 'assistant', content: [unsigned, signed, said] },
    ];
    expect(bodyOf(nativeRequest({ messages, novelty: 1 }))).toMatchObject({
      messages: [messages[0], messages[2], { role: 'assistant', content: [signed, said] }],
      novelty: 1,
    });
    expect(messagesBody(nativeRequest({ messages: [messages[2]] }), 'm').json).toContain(JSON.stringify([messages[2]]));
  });

  it('has a thinking budget below our cap, or no thinking if there is no room for it', () => {
    const thinking = { type: 'enabled', budget_tokens: 31_999, display: 'omitted' };
    const own = { ...fields, thinking, context_management: { edits: [] } };
    const reasoning = { effort: '', budgetTokens: 31_999, disabled: false };
    const roomy = messagesBody(nativeRequest(own, { reasoning, maxOutputTokens: 32_000 }), 'vendor-model');
    expect(JSON.parse(roomy.json)).toMatchObject({ max_tokens: 32_000, thinking });
    expect(roomy.dropped).toEqual([]);
    const lowered = messagesBody(nativeRequest(own, { reasoning, maxOutputTokens: 4000 }), 'vendor-model');
    expect(JSON.parse(lowered.json)).toMatchObject({ ...own, max_tokens: 4000, thinking: { ...thinking, budget_tokens: 3999 } });
    expect(lowered.dropped).toEqual(['thinking.budget_tokens']);
    const tight = messagesBody(nativeRequest(own, { reasoning, maxOutputTokens: 1024 }), 'vendor-model');
    expect(JSON.parse(tight.json)).toEqual({ model: 'vendor-model', max_tokens: 1024, stream: true, ...fields });
    expect(tight.dropped).toEqual(['thinking', 'context_management']);
  });

  it('is not used for a caller of another format', () => {
    const native = { format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS, fieldsJson: JSON.stringify(fields), droppedElsewhere: ['verbosity'] };
    const body = messagesBody(textRequest('Hi', { native, sampling: { seed: 1n } }), 'm');
    expect(JSON.parse(body.json)).not.toHaveProperty('novelty');
    expect(body.dropped).toEqual(['verbosity', 'seed']);
  });

  it('is counted by its own fields, without a cap', () => {
    expect(JSON.parse(countTokensBody(CountTokensRequest.fromPartial({ native: nativeRequest(fields).native }), 'm'))).toEqual({
      model: 'm',
      ...fields,
    });
  });
});

describe('the headers of a messages upstream', () => {
  it('are the version and the beta flags of the caller, as sent', () => {
    const native = {
      format: ApiFormat.API_FORMAT_MESSAGES,
      fieldsJson: '{}',
      messagesBetas: ['effort-2025-11-24', 'claude-code-20250219'],
      otherFieldsJson: '',
      droppedElsewhere: [],
      refusedElsewhere: [],
      vendorTools: [],
    };
    expect(wire.headers('key', { messagesVersion: '2026-10-21', native })).toEqual({
      'anthropic-version': '2026-10-21',
      'anthropic-beta': 'effort-2025-11-24,claude-code-20250219',
      'x-api-key': 'key',
    });
    expect(wire.headers(undefined, { messagesVersion: '', native: undefined })).toEqual({ 'anthropic-version': '2023-06-01' });
    expect(
      wire.headers(undefined, { messagesVersion: '', native: { ...native, format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS } }),
    ).not.toHaveProperty('anthropic-beta');
  });
});
