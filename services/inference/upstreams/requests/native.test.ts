import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, ApiFormat } from '#proto/inference/v1/inference.js';
import { droppedFor, nativeFor, refusalFor } from './native.js';

const [chat, messages, sandbox] = [
  ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
  ApiFormat.API_FORMAT_MESSAGES,
  ApiFormat.API_FORMAT_SANDBOX,
] as const;
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
});
