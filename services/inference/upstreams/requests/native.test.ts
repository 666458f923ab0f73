import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import { textRequest } from '../../testing/fixtures.js';
import { chatCompletionsBody } from '../chat-completions/request.js';
import { messagesBody } from '../messages/request.js';
import { responsesBody } from '../responses/request.js';
import { droppedFor, nativeFor, refusalFor } from './native.js';

const [chat, messages, responses, sandbox] = [
  ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
  ApiFormat.API_FORMAT_MESSAGES,
  ApiFormat.API_FORMAT_RESPONSES,
  ApiFormat.API_FORMAT_SANDBOX,
] as const;
const openAi = { isOpenAi: true };
const request = GenerateRequest.fromPartial({
  native: {
    format: chat,
    fieldsJson: '{"n":2}',
    droppedElsewhere: ['seed'],
    refusedElsewhere: [{ field: 'n', text: 'only 1 answer per call' }],
  },
});

describe('a request that carries the caller’s own fields', () => {
  it('gives them to upstreams of their format only', () => {
    expect(nativeFor(request, chat)?.fieldsJson).toBe('{"n":2}');
    expect(nativeFor(request, messages)).toBeUndefined();
    expect(nativeFor(GenerateRequest.fromPartial({}), chat)).toBeUndefined();
  });

  it('is refused elsewhere for a field that would change the answer, by the caller’s name of it', () => {
    expect(refusalFor(request, chat)).toBeUndefined();
    expect(refusalFor(request, messages)).toMatchObject({
      reason: 'unsupported_field',
      message: 'n: only 1 answer per call',
      details: { field: 'n' },
    });
    expect(refusalFor(request, sandbox)).toBeDefined();
  });

  it('names what is dropped elsewhere', () => {
    expect(droppedFor(request, chat)).toEqual([]);
    expect(droppedFor(request, messages)).toEqual(['seed']);
  });

  it.each([
    [chat, 'reasoning_effort', 'reasoning_effort'],
    [messages, 'thinking', 'output_config.effort'],
    [responses, 'reasoning.effort', 'reasoning.effort'],
  ])('names dropped reasoning as format %s does', (format, disabled, effort) => {
    const asked = (reasoning: object) => textRequest('Hi', { native: { format, fieldsJson: '{}' }, reasoning });
    const bodies = [
      {
        takes: chat,
        disabled: chatCompletionsBody(asked({ disabled: true }), 'gpt-4o', openAi),
        effort: chatCompletionsBody(asked({ effort: 'low' }), 'gpt-4o', openAi),
      },
      {
        takes: responses,
        disabled: responsesBody(asked({ disabled: true }), 'gpt-4o', openAi),
        effort: responsesBody(asked({ effort: 'low' }), 'gpt-4o', openAi),
      },
      { takes: messages, effort: messagesBody(asked({ effort: 'low' }), 'claude-3-5-sonnet') },
    ].filter(({ takes }) => takes !== format);
    for (const body of bodies) {
      expect(body.effort.dropped).toEqual([effort]);
      if (body.disabled !== undefined) expect(body.disabled.dropped).toEqual([disabled]);
    }
  });
});
