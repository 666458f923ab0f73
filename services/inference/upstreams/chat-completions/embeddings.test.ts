import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, Role } from '#proto/inference/v1/inference.js';
import { EmbeddingsDecoder, embeddingsBody } from './embeddings.js';

const head = { target: { upstreamId: 'u', upstreamModel: 'm' }, requestId: 'r', droppedFields: [], isNative: true };
const embeddingRequest = (texts: readonly string[], embedding = {}): GenerateRequest =>
  GenerateRequest.fromPartial({
    prompt: { messages: texts.map((text) => ({ role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] })) },
    embedding,
  });

/** Returns the vectors and the usage of an answer to two texts. */
function read(answer: object): { vectors: number[][]; input: unknown } {
  const decoder = new EmbeddingsDecoder(embeddingRequest(['a', 'b']), head);
  const events = decoder.push(JSON.stringify(answer));
  const vectors = events.flatMap(({ event }) => (event?.$case === 'embedding' ? [event.value.vector] : []));
  return { vectors: vectors.map((bytes) => Array.from(new Float32Array(Uint8Array.from(bytes).buffer))), input: decoder.report.input };
}

const vector = (index: number | undefined, embedding: unknown): object => ({ object: 'embedding', index, embedding });
const usage = { prompt_tokens: 3, total_tokens: 3 };
const tokens = { inputTokens: 3, cacheReadTokens: 0, cacheWrite5mTokens: 0, cacheWrite1hTokens: 0 };

describe('a request for vectors', () => {
  it('requests base64 from OpenAI, and numbers from other servers, all of which can send them', () => {
    const encodingOf = (isOpenAi: boolean): unknown => JSON.parse(embeddingsBody(embeddingRequest(['a']), 'm', { isOpenAi }).json);
    expect(encodingOf(true)).toEqual({ model: 'm', input: ['a'], encoding_format: 'base64' });
    expect(encodingOf(false)).toEqual({ model: 'm', input: ['a'], encoding_format: 'float' });
  });

  it('sends ids of tokens as they are, and the number of dimensions', () => {
    const request = embeddingRequest([], { tokenInputs: [{ ids: [1, 2] }, { ids: [3] }], dimensions: 8 });
    expect(JSON.parse(embeddingsBody(request, 'm', { isOpenAi: true }).json)).toMatchObject({ input: [[1, 2], [3]], dimensions: 8 });
  });
});

describe('an answer with vectors', () => {
  it('is put into the order of the inputs, from numbers or base64', () => {
    const base64 = Buffer.from(Float32Array.of(0.5, -2).buffer).toString('base64');
    expect(read({ data: [vector(1, [3, 4]), vector(0, base64)], usage })).toEqual({
      vectors: [
        [0.5, -2],
        [3, 4],
      ],
      input: tokens,
    });
    expect(read({ data: [vector(undefined, [1]), vector(undefined, [2])] })).toEqual({ vectors: [[1], [2]], input: undefined });
  });

  it('reports its input, even if that is only in the total', () => {
    const inputOf = (figures: object) => read({ data: [vector(0, [1]), vector(1, [2])], usage: figures }).input;
    expect(inputOf({ total_tokens: 3 })).toEqual(tokens);
    expect(inputOf({ prompt_tokens: 3, total_tokens: 5 })).toEqual(tokens);
    expect(inputOf({})).toBeUndefined();
  });

  it.each([
    ['one is missing', [vector(0, [1])]],
    ['one comes twice', [vector(0, [1]), vector(0, [2])]],
    ['an index is out of range', [vector(0, [1]), vector(7, [2])]],
    ['their lengths differ', [vector(0, [1]), vector(1, [1, 2])]],
    ['one is empty', [vector(0, []), vector(1, [])]],
    ['one has something other than numbers', [vector(0, ['1']), vector(1, [2])]],
    ['one is cut in the middle of a number', [vector(0, 'AAAA'), vector(1, 'AAAA')]],
  ])('is refused if %s', (_fault, data) => {
    expect(() => read({ data, usage })).toThrow('malformed');
  });

  it('that is an error with status 200 is that error', () => {
    expect(() => read({ error: { message: 'Input is too long', type: 'invalid_request_error', code: 400 } })).toThrow('Input is too long');
  });
});
