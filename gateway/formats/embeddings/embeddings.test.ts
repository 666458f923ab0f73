import { describe, expect, it } from '@jest/globals';
import type { AppError } from '#client/errors/app-error.js';
import { TokenCounts } from '#proto/inference/v1/tokens.js';
import { parseEmbeddings } from './request.js';
import { collectEmbeddings } from './response.js';

const model = 'a/model';
const textsOf = (input: unknown): unknown =>
  parseEmbeddings({ model, input }).request.prompt!.messages.map(({ parts }) => (parts[0]!.part as { value: { text: string } }).value.text);
const tokensOf = (input: unknown): unknown => parseEmbeddings({ model, input }).request.embedding!.tokenInputs.map(({ ids }) => ids);

describe('a request for embeddings', () => {
  it('has texts or ids of tokens, one or several', () => {
    expect([textsOf('a'), textsOf(['a', 'b'])]).toEqual([['a'], ['a', 'b']]);
    expect([tokensOf([1, 2]), tokensOf([[1, 2], [3]])]).toEqual([[[1, 2]], [[1, 2], [3]]]);
    expect(textsOf([1, 2])).toEqual([]);
  });

  it('is bounded by its bytes or tokens, and what may be put around each input', () => {
    expect(parseEmbeddings({ model, input: ['é', 'ab'] }).inputTokensMax).toBe(2 + 2 + 2 * 64);
    expect(parseEmbeddings({ model, input: [[1, 2, 3]] }).inputTokensMax).toBe(3 + 64);
    const other = { instruction: 'Represent this:' };
    expect(parseEmbeddings({ model, input: ['a', 'b'], ...other }).inputTokensMax).toBe(2 + 2 * 64 + 2 * JSON.stringify(other).length);
  });

  it('passes on fields that only some servers support, and drops fields that could select another model or server', () => {
    const { request, droppedFields } = parseEmbeddings({ model, input: 'a', input_type: 'query', Model: 'b', api_base: 'c' });
    expect(request.native).toMatchObject({ otherFieldsJson: '{"input_type":"query"}', droppedElsewhere: ['input_type'] });
    expect(droppedFields).toEqual(['Model', 'api_base']);
  });

  it.each([
    [{ input: 'a' }, 'model'],
    [{ model }, 'input'],
    [{ model, input: '' }, 'input'],
    [{ model, input: [] }, 'input'],
    [{ model, input: ['a', ''] }, 'input[1]'],
    [{ model, input: [[1], []] }, 'input[1]'],
    [{ model, input: [[-1]] }, 'input[0][0]'],
    [{ model, input: Array.from({ length: 2049 }, () => 'a') }, 'input'],
    [{ model, input: 'a', dimensions: 0 }, 'dimensions'],
    [{ model, input: 'a', encoding_format: 'int8' }, 'encoding_format'],
  ])('that is malformed names the field: %j', (body, field) => {
    let error: unknown;
    try {
      parseEmbeddings(body);
    } catch (caught) {
      error = caught;
    }
    expect((error as AppError).details['field']).toBe(field);
  });
});

describe('an answer with vectors', () => {
  const vector = Buffer.from(Float32Array.of(0.1, -1).buffer);
  const bodyIn = (vectorEncoding: 'float' | 'base64'): unknown => {
    const collector = collectEmbeddings({ requestId: 'req_1', model, createdAtMs: 0, includeUsage: false, vectorEncoding });
    collector.push([{ event: { $case: 'embedding', value: { index: 0, vector } } }]);
    return collector.finish(TokenCounts.fromPartial({ inputTokens: 5 }));
  };

  it('has numbers or base64 of them, and the tokens that are charged', () => {
    const rest = { object: 'list', model, usage: { prompt_tokens: 5, total_tokens: 5 } };
    const data = (embedding: unknown): unknown => [{ object: 'embedding', index: 0, embedding }];
    expect(bodyIn('float')).toEqual({ ...rest, data: data([Math.fround(0.1), -1]) });
    expect(bodyIn('base64')).toEqual({ ...rest, data: data(vector.toString('base64')) });
  });
});
