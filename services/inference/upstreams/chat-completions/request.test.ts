import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, Role, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { checkChatCompletions } from '../../../../tests/upstream/checks/check-chat-completions.js';
import { textRequest } from '../../testing/fixtures.js';
import { flavourOf, refusesEffort, refusesSampling, takesCacheBreakpoints } from './flavour.js';
import { chatCompletionsBody } from './request.js';
import { callerToolNames, toUpstreamToolName } from './tools/tool-names.js';

const openAi = { isOpenAi: true };
const other = { isOpenAi: false };
const longName = 'n'.repeat(100);

/** Everything that a request can contain. */
const full = GenerateRequest.fromPartial({
  callId: 'req_1',
  prompt: {
    system: ['Be brief.', 'Be kind.'],
    messages: [
      {
        role: Role.ROLE_USER,
        parts: [{ part: { $case: 'text', value: { text: 'Weather' } } }, { part: { $case: 'text', value: { text: 'and time?' } } }],
      },
      {
        role: Role.ROLE_ASSISTANT,
        parts: [
          { part: { $case: 'reasoning', value: { text: 'Two tools.', signature: 'sig' } } },
          { part: { $case: 'text', value: { text: 'One moment.' } } },
          { part: { $case: 'toolCall', value: { id: 'a', name: 'f', argumentsJson: '{"x":1}' } } },
          { part: { $case: 'toolCall', value: { id: 'b', name: longName, argumentsJson: '' } } },
        ],
      },
      {
        role: Role.ROLE_USER,
        parts: [
          { part: { $case: 'text', value: { text: 'Here.' } } },
          { part: { $case: 'toolResult', value: { toolCallId: 'a', text: 'sun' } } },
          { part: { $case: 'toolResult', value: { toolCallId: 'b', text: 'no clock', isError: true } } },
        ],
      },
      { role: Role.ROLE_SYSTEM, parts: [{ part: { $case: 'text', value: { text: 'Hurry.' } } }] },
    ],
    tools: [{ name: 'f', description: 'F', parametersJson: '{"type":"object"}', strict: true }, { name: longName }],
    toolChoice: { mode: ToolChoice_Mode.MODE_NAMED, name: longName, disableParallelCalls: true },
  },
  maxOutputTokens: 50,
  sampling: { temperature: 0.5, topP: 0.9, topK: 5, seed: 7n, frequencyPenalty: 1, presencePenalty: -1 },
  stopSequences: ['END'],
  reasoning: { effort: 'high' },
  endUser: 'u1',
});

const bodyOf = (request: GenerateRequest, flavour = other) =>
  JSON.parse(chatCompletionsBody(request, 'm', flavour).json) as Record<string, unknown>;

describe('a chat-completions request', () => {
  it.each([
    ['https://llm.example.com/v1', [], 'llama-3.3-70b', 'max_tokens'],
    ['https://llm.example.com/v1', [], 'openai/gpt-oss-120b', 'max_tokens'],
    ['https://api.openai.com/v1', [], 'gpt-4o', 'max_completion_tokens'],
    ['https://gateway.example.com/openai/v1', [], 'gpt-5.2', 'max_completion_tokens'],
    ['https://acme.services.ai.azure.com/openai/v1', ['max_completion_tokens'], 'our-deployment', 'max_completion_tokens'],
  ])('to %s with the fields %j names the cap of %s %s', (baseUrl, allowedFields, model, field) => {
    const body = JSON.parse(chatCompletionsBody(full, model, flavourOf(baseUrl, allowedFields)).json) as Record<string, unknown>;
    expect(Object.keys(body).filter((name) => name.startsWith('max_'))).toEqual([field]);
  });

  it('expresses everything in the canonical one', () => {
    expect(bodyOf(full)).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be brief.\nBe kind.' },
        { role: 'user', content: 'Weather\nand time?' },
        {
          role: 'assistant',
          content: 'One moment.',
          reasoning_content: 'Two tools.',
          tool_calls: [
            { id: 'a', type: 'function', function: { name: 'f', arguments: '{"x":1}' } },
            { id: 'b', type: 'function', function: { name: toUpstreamToolName(longName), arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'a', content: 'sun' },
        { role: 'tool', tool_call_id: 'b', content: 'Error: no clock' },
        { role: 'user', content: 'Here.\n<system-reminder>\nHurry.\n</system-reminder>' },
      ],
      max_tokens: 50,
      tools: [
        { type: 'function', function: { name: 'f', description: 'F', parameters: { type: 'object' }, strict: false } },
        { type: 'function', function: { name: toUpstreamToolName(longName) } },
      ],
      tool_choice: { type: 'function', function: { name: toUpstreamToolName(longName) } },
      parallel_tool_calls: false,
      temperature: 0.5,
      top_p: 0.9,
      frequency_penalty: 1,
      presence_penalty: -1,
      seed: 7,
      stop: ['END'],
      reasoning_effort: 'high',
      user: 'u1',
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('to OpenAI caps the output by its newer name, and has no field that OpenAI does not know', () => {
    const body = bodyOf(full, openAi);
    expect(body).toMatchObject({
      max_completion_tokens: 50,
      safety_identifier: 'u1',
      stream_options: { include_usage: true, include_obfuscation: false },
    });
    expect(body).not.toHaveProperty('max_tokens');
    expect(JSON.stringify(body)).not.toContain('reasoning_content');
  });

  it.each([openAi, other])('is accepted by a strict upstream: %j', (flavour) => {
    expect(() => checkChatCompletions(bodyOf(full, flavour))).not.toThrow();
    expect(() => checkChatCompletions(bodyOf(textRequest('Hi'), flavour))).not.toThrow();
  });

  it('leaves out what was not requested', () => {
    expect(Object.keys(bodyOf(textRequest('Hi')))).toEqual(['model', 'max_tokens', 'stream', 'stream_options', 'messages']);
  });

  it('has no tool choice without tools', () => {
    const request = textRequest('Hi');
    request.prompt!.toolChoice = { mode: ToolChoice_Mode.MODE_AUTO, name: '', disableParallelCalls: true };
    expect(bodyOf(request)).not.toHaveProperty('tool_choice');
    expect(bodyOf(request)).not.toHaveProperty('parallel_tool_calls');
  });

  it.each([
    [{ budgetTokens: 2000 }, 'low'],
    [{ budgetTokens: 10_000 }, 'medium'],
    [{ budgetTokens: 50_000 }, 'high'],
    [{ effort: 'none' }, 'none'],
    [{ disabled: true }, undefined],
  ])('turns reasoning %j into the effort %s', (reasoning, effort) => {
    expect(bodyOf(textRequest('Hi', { reasoning }))['reasoning_effort']).toBe(effort);
  });

  it('is refused if the format cannot express it', () => {
    const fieldOf = (rest: Parameters<typeof textRequest>[1]) => {
      try {
        bodyOf(textRequest('Hi', rest));
        return undefined;
      } catch (error) {
        return (error as { details: Record<string, string> }).details['field'];
      }
    };
    expect(fieldOf({ stopSequences: ['1', '2', '3', '4', '5'] })).toBe('stop_sequences');
    expect(fieldOf({ maxOutputTokens: 0 })).toBe('max_tokens');
    expect(fieldOf({ prompt: { messages: [], tools: [{ name: 'f', parametersJson: '[1]' }] } })).toBe('tools');
  });

  it('keeps a seed of any size a whole number', () => {
    expect(Number.isSafeInteger(bodyOf(textRequest('Hi', { sampling: { seed: 9_223_372_036_854_775_807n } }))['seed'])).toBe(true);
  });
});

describe('tool names', () => {
  it('that are too long are cut, stay distinct, and are restored', () => {
    const [one, two] = [`${longName}1`, `${longName}2`];
    expect(toUpstreamToolName(one)).toMatch(/^n+_[0-9a-f]{16}$/);
    expect(toUpstreamToolName(one)).toHaveLength(64);
    expect(toUpstreamToolName(one)).not.toBe(toUpstreamToolName(two));
    const restore = callerToolNames(GenerateRequest.fromPartial({ prompt: { tools: [{ name: one }, { name: two }] } }).prompt!.tools);
    expect(restore(toUpstreamToolName(two))).toBe(two);
    expect(restore('unknown')).toBe('unknown');
    expect(toUpstreamToolName('server.tool')).toMatch(/^server_tool_[0-9a-f]{16}$/);
  });
});

describe('OpenAI', () => {
  it.each([
    ['gpt-5.6', true],
    ['gpt-5.6-mini', true],
    ['gpt-6', true],
    ['gpt-5.10', true],
    ['gpt-5.5', false],
    ['gpt-5', false],
    ['gpt-4.1', false],
    ['my-deployment', false],
    ['o3', false],
  ])('takes cache breakpoints for %s: %s', (model, takes) => {
    expect(takesCacheBreakpoints(openAi, model)).toBe(takes);
    expect(takesCacheBreakpoints(other, model)).toBe(false);
  });

  it.each([
    ['gpt-5', 'low', true],
    ['gpt-5.1', 'none', false],
    ['o3-mini', undefined, true],
    ['gpt-4.1', undefined, false],
    ['gpt-5-chat-latest', undefined, false],
    ['omni', undefined, false],
  ])('refuses sampling for %s at effort %s: %s', (model, effort, refuses) => {
    expect(refusesSampling(openAi, model, effort)).toBe(refuses);
    expect(refusesSampling(other, model, effort)).toBe(false);
  });

  it.each([
    ['gpt-4.1', true],
    ['gpt-4o-mini', true],
    ['gpt-3.5-turbo', true],
    ['ft:gpt-4o:acme', true],
    ['chatgpt-4o-latest', true],
    ['gpt-5-chat-latest', true],
    ['gpt-5', false],
    ['gpt-5.6-mini', false],
    ['o4-mini', false],
    ['my-deployment', false],
  ])('refuses a reasoning effort for %s: %s', (model, refuses) => {
    expect(refusesEffort(openAi, model)).toBe(refuses);
    expect(refusesEffort(other, model)).toBe(false);
  });

  it.each([
    ['https://api.groq.com/openai/v1', 'openai/gpt-oss-120b', false],
    ['https://api.groq.com/openai/v1', 'llama-3.3-70b-versatile', true],
    ['https://api.groq.com/openai/v1', 'qwen/qwen3-32b', true],
    ['https://api.x.ai/v1', 'grok-3-mini', false],
    ['https://api.x.ai/v1', 'grok-4.5', false],
    ['https://api.x.ai/v1', 'grok-4.20-multi-agent-0309', false],
    ['https://api.x.ai/v1', 'grok-4.20-0309-reasoning', true],
    ['https://api.x.ai/v1', 'grok-4-1-fast-reasoning', true],
    ['https://api.x.ai/v1', 'grok-code-fast-1', true],
    ['https://api.mistral.ai/v1', 'mistral-small-latest', true],
    ['https://vendor.test/v1', 'grok-4', false],
  ])('at %s refuses a reasoning effort for %s: %s', (baseUrl, model, refuses) => {
    const built = chatCompletionsBody(textRequest('Hi', { reasoning: { effort: 'medium' } }), model, flavourOf(baseUrl));
    expect((JSON.parse(built.json) as Record<string, unknown>)['reasoning_effort']).toBe(refuses ? undefined : 'medium');
    expect(built.dropped).toEqual(refuses ? ['output_config.effort'] : []);
  });

  it.each([
    ['gpt-4.1', { effort: 'high', budgetTokens: 31_999 }, undefined, ['thinking', 'output_config.effort']],
    ['gpt-5.1', { effort: 'high', budgetTokens: 31_999 }, 'high', []],
    ['gpt-5.1', { disabled: true }, undefined, ['thinking']],
  ])('receives the reasoning that its model %s accepts: %j', (model, reasoning, effort, dropped) => {
    const built = chatCompletionsBody(textRequest('Hi', { reasoning }), model, openAi);
    expect((JSON.parse(built.json) as Record<string, unknown>)['reasoning_effort']).toBe(effort);
    expect(built.dropped).toEqual(dropped);
  });

  it.each([
    ['gpt-5', undefined, ['top_k', 'temperature', 'top_p', 'frequency_penalty', 'presence_penalty']],
    ['gpt-4.1', 0.5, ['top_k']],
  ])('receives the sampling that its model %s accepts', (model, temperature, dropped) => {
    const built = chatCompletionsBody(textRequest('Hi', { sampling: full.sampling! }), model, openAi);
    expect((JSON.parse(built.json) as Record<string, unknown>)['temperature']).toBe(temperature);
    expect(built.dropped).toEqual(dropped);
  });

  it.each([
    ['https://api.openai.com/v1', true],
    ['https://eu.api.openai.com/v1', true],
    ['https://mine.openai.azure.com/openai/v1', true],
    ['https://openai.com.evil.example/v1', false],
    ['https://notopenai.com/v1', false],
    ['http://127.0.0.1:8000/v1', false],
  ])('is recognised by its host: %s', (baseUrl, isOpenAi) => {
    expect(flavourOf(baseUrl)).toMatchObject({ isOpenAi });
  });
});
