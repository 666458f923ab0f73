// The embeddings format: the vendor's own, with the errors of its chat-completions format.
import { chatCompletions } from '../chat-completions/index.js';
import type { Format } from '../format.js';
import { parseEmbeddings } from './request.js';
import { collectEmbeddings } from './response.js';

/** POST /v1/embeddings. */
export const embeddings: Format = {
  ...chatCompletions,
  name: 'embeddings',
  parse: parseEmbeddings,
  stream: () => {
    throw new Error('Vectors are not streamed.');
  },
  collector: collectEmbeddings,
};
