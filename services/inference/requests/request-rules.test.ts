import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, Role, ToolChoice_Mode } from '#proto/inference/v1/inference.js';
import { checkGenerateRequest } from './request-rules.js';
import { textRequest } from '../testing/fixtures.js';

const text = { part: { $case: 'text' as const, value: { text: 'x' } } };
const call = { part: { $case: 'toolCall' as const, value: { id: 'a', name: 'f', argumentsJson: '' } } };
const message = (role: Role, ...parts: unknown[]) => ({ prompt: { messages: [{ role, parts }] } }) as Parameters<typeof textRequest>[1];

function fieldOf(rest: Parameters<typeof textRequest>[1]): string | undefined {
  try {
    checkGenerateRequest(GenerateRequest.fromPartial(textRequest('Hi', rest)));
    return undefined;
  } catch (error) {
    return (error as { details: Record<string, string> }).details['field'];
  }
}

describe('a request', () => {
  it('in order passes', () => {
    expect(fieldOf({})).toBeUndefined();
    expect(
      fieldOf({
        ...message(Role.ROLE_ASSISTANT, text, call),
        sampling: { temperature: 2 },
        reasoning: { effort: 'max' },
        messagesVersion: '2026-10-21',
      }),
    ).toBeUndefined();
  });

  it('may contain images and documents in user messages and tool results', () => {
    const image = { part: { $case: 'image', value: { source: { $case: 'url', value: 'https://example.com/a.png' } } } };
    const document = { part: { $case: 'document', value: { source: { $case: 'text', value: 'x' } } } };
    const result = { part: { $case: 'toolResult', value: { toolCallId: 'a', content: [text, image, document] } } };
    expect(fieldOf(message(Role.ROLE_USER, text, image, document, result))).toBeUndefined();
  });

  it('may have an empty meaning if the caller’s own fields are sent', () => {
    expect(fieldOf({ prompt: { messages: [] }, native: { fieldsJson: '{}' } })).toBeUndefined();
  });

  it.each<[string, Parameters<typeof textRequest>[1]]>([
    ['call_id', { callId: '' }],
    ['targets', { targets: [] }],
    ['targets.upstream_id', { targets: [{ upstreamModel: 'x' }] }],
    ['targets.upstream_model', { targets: [{ upstreamId: 'x' }] }],
    ['prompt.messages', { prompt: {} }],
    ['prompt.messages.role', message(Role.ROLE_UNSPECIFIED, text)],
    ['prompt.messages.parts', message(Role.ROLE_USER, call)],
    ['prompt.messages.parts', message(Role.ROLE_USER, { part: undefined })],
    ['prompt.messages.parts.tool_call', message(Role.ROLE_ASSISTANT, { part: { $case: 'toolCall', value: { name: 'f' } } })],
    ['prompt.messages.parts.tool_result', message(Role.ROLE_USER, { part: { $case: 'toolResult', value: { text: 'x' } } })],
    [
      'prompt.messages.parts.tool_result.content',
      message(Role.ROLE_USER, { part: { $case: 'toolResult', value: { toolCallId: 'a', content: [call] } } }),
    ],
    ['prompt.messages.parts.image', message(Role.ROLE_USER, { part: { $case: 'image', value: {} } })],
    ['prompt.tools.name', { prompt: { ...message(Role.ROLE_USER, text)!.prompt, tools: [{ name: '' }] } }],
    [
      'prompt.tool_choice.name',
      { prompt: { ...message(Role.ROLE_USER, text)!.prompt, toolChoice: { mode: ToolChoice_Mode.MODE_NAMED, name: 'f' } } },
    ],
    ['max_output_tokens', { maxOutputTokens: 4_000_000_000 }],
    ['stop_sequences', { stopSequences: [''] }],
    ['stop_sequences', { stopSequences: Array.from({ length: 65 }, String) }],
    ['sampling.temperature', { sampling: { temperature: 2.1 } }],
    ['sampling.temperature', { sampling: { temperature: Number.NaN } }],
    ['sampling.top_p', { sampling: { topP: -0.1 } }],
    ['reasoning.effort', { reasoning: { effort: 'enormous' } }],
    ['verbosity', { verbosity: 'terse' }],
    ['prompt_cache_key', { promptCacheKey: 'x'.repeat(1025) }],
    ['messages_version', { messagesVersion: '2026-1-1' }],
  ])('with an invalid %s is refused', (field, rest) => {
    expect(fieldOf(rest)).toBe(field);
  });
});
