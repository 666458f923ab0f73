// Vectors → the body of an answer.
import type { Event } from '#proto/inference/v1/inference.js';
import type { AnswerContext, Collector } from '../format.js';
import type { EmbeddingList } from './schema.js';

/** Collects the vectors of one answer. */
export function collectEmbeddings({ model, vectorEncoding }: AnswerContext): Collector {
  const data: EmbeddingList['data'] = [];
  return {
    push(events: readonly Event[]) {
      for (const { event } of events) {
        if (event?.$case !== 'embedding') continue;
        const { index, vector } = event.value;
        data.push({ object: 'embedding', index, embedding: vectorEncoding === 'base64' ? vector.toString('base64') : numbersOf(vector) });
      }
    },
    finish({ inputTokens, cacheReadTokens, cacheWrite5mTokens, cacheWrite1hTokens }): EmbeddingList {
      const tokens = inputTokens + cacheReadTokens + cacheWrite5mTokens + cacheWrite1hTokens;
      return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
    },
  };
}

function numbersOf(vector: Buffer): number[] {
  return Array.from({ length: vector.length / 4 }, (_, index) => vector.readFloatLE(index * 4));
}
