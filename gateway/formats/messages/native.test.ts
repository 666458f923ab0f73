import { describe, expect, it } from '@jest/globals';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { signatureOfItem } from '#rules/wire/reasoning-seals.js';
import type { FormatHeaders } from '../format.js';
import { clientRequests } from '../testing/requests.js';
import { parseCountTokens, parseMessages } from './request.js';

const minimal = { model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] };
const fieldsOf = (body: object, headers: FormatHeaders = {}): Record<string, unknown> =>
  JSON.parse(parseMessages(body, headers).request.native!.fieldsJson) as Record<string, unknown>;
const messagesOf = (...messages: object[]): unknown =>
  fieldsOf({ ...minimal, messages: [{ role: 'user', content: 'hi' }, ...messages] })['messages'];

const text = { type: 'text', text: 'on' };
const use = (id: string): object => ({ type: 'tool_use', id, name: 'f', input: {} });
const result = (id: string): object => ({ type: 'tool_result', tool_use_id: id, content: 'ok' });
const assistant = (...content: object[]): object => ({ role: 'assistant', content });
const user = (...content: object[]): object => ({ role: 'user', content });

describe('the caller’s own messages body', () => {
  it.each(Object.entries(clientRequests('messages')))('is what %s sent, except for our own fields', (_name, body) => {
    const { model: _model, stream: _stream, max_tokens: _max, metadata: _metadata, ...rest } = body as Record<string, unknown>;
    expect(fieldsOf(body as object)).toEqual(rest);
    expect(parseMessages(body, {}).request.native?.format).toBe(ApiFormat.API_FORMAT_MESSAGES);
  });

  it('has no fields for the model, streaming, caps, users and accounts, and none that change the price', () => {
    const ours = {
      stream: true,
      stream_options: {},
      max_completion_tokens: 1,
      user: 'alice',
      safety_identifier: 'alice',
      metadata: { user_id: 'alice', team: 't' },
    };
    const unpriced = { service_tier: 'auto', speed: 'fast', inference_geo: 'us', container: 'c', diagnostics: {} };
    expect(fieldsOf({ ...minimal, ...ours, ...unpriced })).toEqual({ messages: minimal.messages });
  });

  it('keeps unknown fields, blocks and options', () => {
    const body = {
      messages: [user({ ...text, mood: 1 }, { type: 'hologram', data: [1, { a: null }] })],
      tools: [
        { name: 'f', input_schema: { type: 'object' }, mood: 1 },
        { type: 'bash_20250124', name: 'bash' },
      ],
      output_config: { effort: 'ultra', mood: 1 },
    };
    expect(fieldsOf({ ...minimal, ...body, future_field: { a: [1] } })).toEqual(body);
    const { otherFieldsJson } = parseMessages({ ...minimal, future_field: { a: [1] } }, {}).request.native!;
    expect(otherFieldsJson).toBe('{"future_field":{"a":[1]}}');
  });

  it('has no known fields that are null or empty, because vendors treat them differently', () => {
    const nothing = { temperature: null, system: [], tools: [], tool_choice: { type: 'auto' }, cache_control: null, stop_sequences: null };
    expect(fieldsOf({ ...minimal, ...nothing, future_field: null }, { version: '2026-10-21' })).toEqual({ messages: minimal.messages });
  });

  it('has only the fields that are read when tokens are counted', () => {
    const { fieldsJson, messagesBetas } = parseCountTokens(
      {
        ...minimal,
        temperature: 1,
        stop_sequences: ['a'],
        metadata: { user_id: 'u' },
        stream: true,
        thinking: { type: 'adaptive' },
        speed: 'fast',
      },
      { betas: ['a'] },
    ).request.native!;
    expect(JSON.parse(fieldsJson)).toEqual({ messages: minimal.messages, thinking: { type: 'adaptive' } });
    expect(messagesBetas).toEqual(['a']);
  });

  it('keeps the beta flags, each once', () => {
    expect(parseMessages(minimal, { betas: ['a-1', 'b-2', 'a-1'] }).request.native?.messagesBetas).toEqual(['a-1', 'b-2']);
  });
});

describe('a conversation that vendors would reject', () => {
  it('loses thinking that is unsigned or from a responses upstream, and messages that contain nothing else', () => {
    const signed = { type: 'thinking', thinking: '', signature: 's' };
    const unsigned = [
      { type: 'thinking', thinking: 'a', signature: '' },
      { type: 'thinking', thinking: 'a' },
      { type: 'thinking', thinking: 'a', signature: signatureOfItem({ id: 'rs_1', encryptedContent: 'gAAA' }) },
    ];
    expect(messagesOf(assistant(...unsigned, signed, text), user(text), assistant(unsigned[0]!), user(text))).toEqual([
      { role: 'user', content: 'hi' },
      assistant(signed, text),
      user(text),
      user(text),
    ]);
  });

  it('has tool call ids with the characters of the format (7.9 #15)', () => {
    const sent = messagesOf(assistant(use('functions.f:0'), use('ok')), user(result('functions.f:0'), result('ok'))) as {
      content: Record<string, string>[];
    }[];
    const id = sent[1]!.content[0]!['id'];
    expect(id).toMatch(/^functions_f_0_[0-9a-f]{8}$/);
    expect(sent[2]!.content[0]!['tool_use_id']).toBe(id);
    expect(sent[1]!.content[1]).toEqual(use('ok'));
  });

  it('has the results of tools together, right after the calls (7.9 #14)', () => {
    expect(messagesOf(assistant(use('a'), use('b')), { role: 'system', content: 'x' }, user(result('b')), user(result('a'), text))).toEqual(
      [
        { role: 'user', content: 'hi' },
        assistant(use('a'), use('b')),
        user(result('b'), result('a'), text),
        { role: 'system', content: 'x' },
      ],
    );
    expect(
      messagesOf(
        assistant(use('a')),
        assistant(use('b')),
        user(result('a'), result('b')),
        { role: 'user', content: 'on' },
        { role: 'assistant', content: 'so' },
      ),
    ).toEqual([
      { role: 'user', content: 'hi' },
      assistant(use('a'), use('b')),
      user(result('a'), result('b'), text),
      { role: 'assistant', content: 'so' },
    ]);
  });

  it('is otherwise unchanged, including consecutive turns of one role', () => {
    const messages = [
      assistant(text, use('a')),
      user(result('a')),
      { role: 'system', content: 'x' },
      user(text),
      user(text),
      assistant(text),
    ];
    expect(messagesOf(...messages)).toEqual([{ role: 'user', content: 'hi' }, ...messages]);
  });
});
