// Reads the models that servers list in GET {base}/models. Pure.
import type { UpstreamModel } from '#proto/inference/v1/inference.js';
import { isObject, type JsonObject } from './answers/stream-decoder.js';

const tokensMax = 100_000_000;

/**
 * The fields that have the context, the most exact first: llama.cpp's own setting (which can be below what the model was trained for), vLLM and
 * SGLang, Groq, OpenRouter and Together, Mistral, Anthropic; then what llama.cpp knows of the model's training.
 */
const contextFields = [
  'meta.n_ctx',
  'max_model_len',
  'context_window',
  'context_length',
  'max_context_length',
  'max_input_tokens',
  'meta.n_ctx_train',
];
const outputFields = ['max_completion_tokens', 'top_provider.max_completion_tokens', 'max_output_tokens', 'max_tokens'];

/** Returns the models of a list, with an envelope or without, each once; undefined if the answer is not a list. */
export function listedModels(answer: unknown): UpstreamModel[] | undefined {
  const list = isObject(answer) ? [answer['data'], answer['models']].find((entries) => Array.isArray(entries)) : answer;
  if (!Array.isArray(list)) return undefined;
  const models = new Map<string, UpstreamModel>();
  for (const entry of list) {
    if (!isObject(entry)) continue;
    const name = [entry['id'], entry['name'], entry['model']].find((value) => typeof value === 'string' && value !== '');
    if (typeof name !== 'string' || models.has(name)) continue;
    models.set(name, { name, contextTokens: firstCount(entry, contextFields), outputTokens: firstCount(entry, outputFields) });
  }
  return [...models.values()];
}

function firstCount(entry: JsonObject, paths: readonly string[]): number | undefined {
  const values = paths.map((path) => path.split('.').reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), entry));
  return values.find((value): value is number => Number.isInteger(value) && (value as number) > 0 && (value as number) <= tokensMax);
}
