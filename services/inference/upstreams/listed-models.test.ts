import { expect, it } from '@jest/globals';
import { listedModels } from './listed-models.js';

// As the servers send them.
it.each([
  [
    'llama.cpp',
    {
      models: [{ name: 'qwen3-8b.gguf', model: 'qwen3-8b.gguf', capabilities: ['completion'] }],
      object: 'list',
      data: [{ id: 'qwen3-8b.gguf', object: 'model', owned_by: 'llamacpp', meta: { n_ctx_train: 40_960, n_embd: 4096 } }],
    },
    { name: 'qwen3-8b.gguf', contextTokens: 40_960 },
  ],
  [
    'vLLM and SGLang',
    { object: 'list', data: [{ id: 'Qwen/Qwen3-8B', object: 'model', owned_by: 'vllm', root: 'Qwen/Qwen3-8B', max_model_len: 32_768 }] },
    { name: 'Qwen/Qwen3-8B', contextTokens: 32_768 },
  ],
  ['Ollama', { object: 'list', data: [{ id: 'qwen3:8b', object: 'model', created: 1, owned_by: 'library' }] }, { name: 'qwen3:8b' }],
  [
    'OpenRouter',
    { data: [{ id: 'a/b', context_length: 131_072, top_provider: { max_completion_tokens: 16_384 } }] },
    { name: 'a/b', contextTokens: 131_072, outputTokens: 16_384 },
  ],
  ['Together, without an envelope', [{ id: 'a/b', context_length: 8192 }], { name: 'a/b', contextTokens: 8192 }],
])('reads the list of %s', (_server, answer, expected) => {
  expect(listedModels(answer)).toEqual([{ contextTokens: undefined, outputTokens: undefined, ...expected }]);
});

it('reads no list from anything else, and no model from an entry without a name', () => {
  for (const answer of [{}, null, 'list', { data: {} }]) expect(listedModels(answer)).toBeUndefined();
  expect(listedModels({ data: [{}, null, 'a', { id: '' }, { id: 'a', max_model_len: -1 }, { id: 'a' }] })).toEqual([
    { name: 'a', contextTokens: undefined, outputTokens: undefined },
  ]);
});
