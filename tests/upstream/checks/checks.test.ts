// The stub's rules reject what the vendors reject, and accept what they accept: one row per rule.
import { describe, expect, it } from '@jest/globals';
import type { Json } from './check.js';
import { checkChatCompletions } from './check-chat-completions.js';
import { checkCountTokens, checkMessages } from './check-messages.js';
import { checkInputTokens, checkResponses } from './check-responses.js';
import { currentRules, type VendorRules } from './rules.js';

// Rows differ in length, so that their values are a rest parameter: the runner would treat an extra parameter as a callback.
const user = { role: 'user', content: 'Hi' };
const open = { type: 'object', properties: { a: { type: 'string' } } };
const closed = { ...open, required: ['a'], additionalProperties: false };

describe('chat-completions requests', () => {
  const check =
    (fields: Json, rules: VendorRules = {}) =>
    () =>
      checkChatCompletions({ model: 'm', messages: [user], ...fields }, { ...currentRules, ...rules });
  const tool = (fields: Json): Json => ({ tools: [{ type: 'function', function: { name: 'f', parameters: closed, ...fields } }] });
  const part = (...content: unknown[]): Json => ({ messages: [{ role: 'user', content }] });
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } };
  const answered = [user, { role: 'assistant', content: null, tool_calls: [call] }, { role: 'tool', tool_call_id: 'a', content: 'x' }];
  const openAi = { isOpenAi: true };

  it.each<[string, Json, VendorRules?]>([
    ['the least', {}],
    ['answered calls', { messages: answered }],
    ['a strict tool', tool({ strict: true })],
    ['an image', part({ type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA', detail: 'low' } })],
    ['a PDF', part({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AAAA' } })],
    ['a field of its own', { hologram: 1 }, { knownFields: ['hologram'] }],
    ['the role developer, at OpenAI', { messages: [{ role: 'developer', content: 'x' }, user] }, openAi],
    [
      'allowed tools',
      {
        ...tool({}),
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'f' } }] } },
      },
    ],
    ['a form', { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: closed, strict: true } } }],
  ])('are taken: %s', (...[, fields, rules]) => expect(check(fields, rules)).not.toThrow());

  it.each<[string, Json, VendorRules?]>([
    ['Unrecognized request argument supplied: hologram', { hologram: 1 }],
    ['messages', { messages: [] }],
    ['Supported values', { messages: [{ role: 'bard', content: 'x' }] }],
    ['Unexpected role developer', { messages: [{ role: 'developer', content: 'x' }] }],
    ['no response messages', { messages: [...answered.slice(0, 2), user] }],
    ['must be a response', { messages: [user, answered[2]] }],
    ['got null', { messages: [user, { role: 'assistant', content: null }] }],
    ['Extra inputs', { messages: [user, { role: 'assistant', content: 'x', reasoning_content: 'y' }] }, openAi],
    ['Extra inputs', { messages: [user, { role: 'assistant', content: 'x', thinking_blocks: [] }] }],
    ['maximum length 40', { messages: [user, { role: 'assistant', tool_calls: [{ ...call, id: 'i'.repeat(41) }] }] }, openAi],
    ["Unsupported parameter: 'max_tokens'", { max_tokens: 5 }, { ...openAi, refusesSampling: true }],
    ["Unsupported parameter: 'top_p'", { top_p: 0.5 }, { ...openAi, refusesSampling: true }],
    ['at the same time', { max_tokens: 5, max_completion_tokens: 5 }, openAi],
    ['too large', { max_tokens: 5000 }, { outputTokensMax: 4000 }],
    ['temperature', { temperature: 2.1 }],
    ['maximum length 4', { stop: ['1', '2', '3', '4', '5'] }],
    ['logprobs', { top_logprobs: 3 }],
    ['stream', { stream_options: { include_usage: true } }],
    ["'tools' are specified", { tool_choice: 'auto' }],
    ["'tools' are specified", { parallel_tool_calls: true }],
    ['match pattern', tool({ name: 'f.g' })],
    ['match pattern', tool({ name: 'n'.repeat(65) })],
    ["Input should be 'object'", tool({ parameters: { type: 'array', items: {} } })],
    ['missing items', tool({ parameters: { type: 'object', properties: { a: { type: 'array' } } } })],
    ['additionalProperties', tool({ parameters: open, strict: true })],
    ["Missing 'a'", tool({ parameters: { ...closed, required: [] }, strict: true })],
    ['no such tool', { ...tool({}), tool_choice: { type: 'function', function: { name: 'g' } } }],
    ["word 'json'", { response_format: { type: 'json_object' } }, openAi],
    ['match pattern', { response_format: { type: 'json_schema', json_schema: { name: 'a b', schema: closed } } }],
    ['Invalid image URL', part({ type: 'image_url', image_url: { url: 'data:image/bmp;base64,AAAA' } })],
    ['base64', part({ type: 'image_url', image_url: { url: 'data:image/png;base64,A' } })],
    ['filename', part({ type: 'file', file: { file_data: 'data:application/pdf;base64,AAAA' } })],
    ['reasoning_effort', { reasoning_effort: 'extreme' }],
    ['maximum length 64', { safety_identifier: 'u'.repeat(65) }],
  ])('are refused: %s: %j', (...[message, fields, rules]) => expect(check(fields, rules)).toThrow(message));
});

describe('messages requests', () => {
  const check =
    (fields: Json, rules: VendorRules = {}, version = '2023-06-01', betas: readonly string[] = []) =>
    () =>
      checkMessages({ model: 'm', max_tokens: 2000, messages: [user], ...fields }, version, { ...currentRules, ...rules }, betas);
  const said = (...content: unknown[]): Json => ({ messages: [{ role: 'user', content }] });
  const text = { type: 'text', text: 'x' };
  const use = { type: 'tool_use', id: 'a', name: 'f', input: {} };
  const result = { type: 'tool_result', tool_use_id: 'a', content: 'x' };
  const tool = { name: 'f', input_schema: closed };
  const mark = (ttl?: string): Json => ({ ...text, cache_control: { type: 'ephemeral', ...(ttl === undefined ? {} : { ttl }) } });
  const think = { type: 'enabled', budget_tokens: 1024 };
  const thought = { type: 'thinking', thinking: '', signature: 's' };

  it.each<[string, Json, VendorRules?, string?, string[]?]>([
    ['the least', {}],
    [
      'answered calls',
      { messages: [user, { role: 'assistant', content: [use] }, { role: 'user', content: [result, text] }], tools: [tool] },
    ],
    [
      'an image and a PDF',
      said(
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'AAAA' } },
      ),
    ],
    ['four marks', said(mark('1h'), mark(), mark('5m'), mark())],
    ['a thought whose display was omitted', { messages: [user, { role: 'assistant', content: [thought, text] }, user] }],
    ['a beta field with its flag', { context_management: {} }, {}, '2023-06-01', ['context-management-2025-06-27']],
    [
      'updates on the thinking with their flag',
      { thinking: { type: 'adaptive', display: 'updates' } },
      {},
      '2023-06-01',
      ['thinking-display-updates-2026-08-18'],
    ],
    ['a field of its own', { hologram: 1 }, { knownFields: ['hologram'] }],
    ['a tool of its own', { tools: [{ type: 'bash_20250124', name: 'bash' }] }],
    ['no tokens', { max_tokens: 0 }],
  ])('are taken: %s', (...[, fields, rules, version, betas]) => expect(check(fields, rules, version, betas)).not.toThrow());

  it.each<[string, Json, VendorRules?, string?]>([
    ['hologram: Extra inputs are not permitted', { hologram: 1 }],
    ['max_tokens: Field required', { max_tokens: undefined }],
    ['Extra inputs', { temperature: 1 }, {}, '2026-10-21'],
    ['Extra inputs', { context_management: {} }],
    ['thinking.adaptive.display', { thinking: { type: 'adaptive', display: 'updates' } }],
    ['block_binding: Extra inputs', { thinking: { type: 'adaptive', block_binding: {} } }],
    ['clear_at: Extra inputs', { messages: [user, { role: 'system', content: 'x', clear_at: 'never' }, user] }],
    ['not supported by this model', { temperature: 0.5 }, { refusesSampling: true }],
    ['top_k', { top_k: 5, thinking: think }],
    ['greater than `thinking.budget_tokens`', { thinking: { type: 'enabled', budget_tokens: 2000 } }],
    ['1024', { thinking: { type: 'enabled', budget_tokens: 1000 } }],
    ['forces tool use', { thinking: think, tools: [tool], tool_choice: { type: 'any' } }],
    [
      'Expected `thinking`',
      { thinking: think, tools: [tool], messages: [user, { role: 'assistant', content: [use] }, { role: 'user', content: [result] }] },
    ],
    ['thinking.type', { thinking: { type: 'adaptive' } }, { thinkingTypes: ['enabled'] }],
    ['non-empty', said({ type: 'text', text: '' })],
    ['non-whitespace', said({ type: 'text', text: ' \n' })],
    [
      'match pattern',
      {
        messages: [
          user,
          { role: 'assistant', content: [{ ...use, id: 'f:0' }] },
          { role: 'user', content: [{ ...result, tool_use_id: 'f:0' }] },
        ],
      },
    ],
    ['without `tool_result`', { messages: [user, { role: 'assistant', content: [use] }, user] }],
    ['unexpected `tool_use_id`', { messages: [user, { role: 'assistant', content: 'x' }, { role: 'user', content: [result] }] }],
    ['must come first', { messages: [user, { role: 'assistant', content: [use] }, { role: 'user', content: [text, result] }] }],
    ['Invalid `signature`', { messages: [user, { role: 'assistant', content: [{ ...thought, signature: '' }, text] }, user] }],
    ['Field required', { messages: [user, { role: 'assistant', content: [{ type: 'thinking', thinking: 'x' }, text] }, user] }],
    ['first message', { messages: [{ role: 'assistant', content: 'x' }, user] }],
    ["top-level 'system'", { messages: [{ role: 'system', content: 'x' }, user] }],
    ['Input should be', { messages: [{ role: 'tool', content: 'x' }] }],
    ['trailing whitespace', { messages: [user, { role: 'assistant', content: 'x ' }] }],
    ['prefill', { messages: [user, { role: 'assistant', content: 'x' }] }, { refusesPrefill: true }],
    ['maximum of 4', said(mark(), mark(), mark(), mark(), mark())],
    ['must not come after', said(mark(), mark('1h'))],
    ['media_type', said({ type: 'image', source: { type: 'base64', media_type: 'image/bmp', data: 'AAAA' } })],
    ['HTTPS', said({ type: 'image', source: { type: 'url', url: 'http://example.com/a.png' } })],
    ['does not match any of the expected tags', { messages: [user, { role: 'assistant', content: [{ type: 'hologram' }] }, user] }],
    ['while providing tools', { tool_choice: { type: 'auto' } }],
    ['not found', { tools: [tool], tool_choice: { type: 'tool', name: 'g' } }],
    ["Input should be 'object'", { tools: [{ name: 'f', input_schema: { type: 'array' } }] }],
    ['additionalProperties', { tools: [{ name: 'f', input_schema: open, strict: true }] }],
    ['additionalProperties', { output_config: { format: { type: 'json_schema', schema: open } } }],
    ['output_config.effort', { output_config: { effort: 'none' } }],
    ['non-whitespace', { stop_sequences: [' '] }],
    ['at most 256', { metadata: { user_id: 'u'.repeat(257) } }],
  ])('are refused: %s: %j', (...[message, fields, rules, version]) => expect(check(fields, rules, version)).toThrow(message));

  it('to count tokens accept no cap', () => {
    expect(() => checkCountTokens({ model: 'm', messages: [user] })).not.toThrow();
    expect(() => checkCountTokens({ model: 'm', messages: [user], max_tokens: 5 })).toThrow('Extra inputs');
  });
});

describe('responses requests', () => {
  const base = { model: 'm', input: 'Hi', store: false };
  const check =
    (fields: Json, rules: VendorRules = {}) =>
    () =>
      checkResponses({ ...base, ...fields }, { ...currentRules, ...rules });
  const openAi = { isOpenAi: true };
  const tool = (fields: Json): Json => ({ tools: [{ type: 'function', name: 'f', parameters: closed, ...fields }] });
  const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
  const result = { type: 'function_call_output', call_id: 'a', output: 'x' };
  const thought = { type: 'reasoning', id: 'rs_1', summary: [] };

  it.each<[string, Json, VendorRules?]>([
    ['the least', {}],
    ['answered calls', { input: [user, call, result] }],
    ['a tool without strict, whose schema the vendor normalizes', tool({ parameters: open })],
    ['encrypted reasoning', { input: [{ ...thought, encrypted_content: 'gAA=' }, user] }, openAi],
    ['an image', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png;base64,AAAA' }] }] }],
    ['a form', { text: { format: { type: 'json_schema', name: 'x', schema: closed, strict: true } } }],
    ['a cap of 16', { max_output_tokens: 16 }, openAi],
  ])('are taken: %s', (...[, fields, rules]) => expect(check(fields, rules)).not.toThrow());

  it.each<[string, Json, VendorRules?]>([
    ["Unknown parameter: 'stop'", { stop: ['x'] }],
    ['at least one item', { input: [] }],
    ['store', { store: true }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['between 16', { max_output_tokens: 15 }, openAi],
    ['No tool output found', { input: [user, call] }],
    ['No tool call found', { input: [user, result] }],
    ['not found', { input: [thought, user] }, openAi],
    ['could not be verified', { input: [{ ...thought, encrypted_content: 'tgreason.x' }, user] }],
    ['additionalProperties', tool({ parameters: open, strict: true })],
    ['not found in', { ...tool({}), tool_choice: { type: 'function', name: 'g' } }],
    ['must be specified with', { tool_choice: 'required' }],
    ["the word 'json'", { text: { format: { type: 'json_object' } } }],
    ['is not supported with this model', { temperature: 1 }, { refusesSampling: true }],
    ['Extra inputs', { input: [{ role: 'user', content: [{ type: 'input_text', text: 'x', detail: 'low' }] }] }],
    ['output_text', { input: [{ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }] }],
  ])('are refused: %s', (...[message, fields, rules]) => expect(check(fields, rules)).toThrow(message));

  it('are counted without the fields that a count does not have', () => {
    expect(() => checkInputTokens({ model: 'm', input: 'Hi' })).not.toThrow();
    expect(() => checkInputTokens({ model: 'm', input: 'Hi', store: false })).toThrow("Unknown parameter: 'store'");
  });
});
