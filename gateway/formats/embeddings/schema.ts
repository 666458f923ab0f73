// The embeddings format as schemas: what a request may contain, and what is returned.
import { Type } from 'typebox';
import { redirecting } from '#rules/wire/request-fields.js';
import { ignored, optional, type ValueOf } from '../requests/fields.js';

/** Maximum number of inputs in a request, as set by the vendor. */
const inputsMax = 2048;

const InputText = Type.String({ minLength: 1 });
const TokenIds = Type.Array(Type.Integer({ minimum: 0, maximum: 0xffff_ffff }), { minItems: 1 });
const several = { minItems: 1, maxItems: inputsMax };

/** The forms of the inputs. */
export const inputForms = {
  text: InputText,
  texts: Type.Array(InputText, several),
  tokens: TokenIds,
  tokenLists: Type.Array(TokenIds, several),
};

/** The body of POST /v1/embeddings. Other fields reach upstreams that publish or allow them. */
export const EmbeddingsRequest = Type.Object(
  {
    model: Type.String({ minLength: 1, description: 'A catalog id of a model with the output modality embedding, see GET /v1/models.' }),
    input: Type.Union([inputForms.text, inputForms.texts, inputForms.tokens, inputForms.tokenLists], {
      description: "One text or a list of texts, as strings or as token ids of the model's own tokenizer.",
    }),
    dimensions: optional(
      Type.Integer({ minimum: 1, maximum: 65_536, description: 'The length of the vectors, for models that can shorten them.' }),
    ),
    encoding_format: optional(
      Type.Enum(['float', 'base64'], { description: 'base64: the numbers as float32, little-endian. float when absent.' }),
    ),
    user: optional(Type.String({ description: 'Sent upstream only as a SHA-256.' })),
    ...ignored(...redirecting),
  },
  { title: 'EmbeddingsRequest' },
);
export type EmbeddingsRequest = ValueOf<typeof EmbeddingsRequest>;

/** The body of an answer. */
export const EmbeddingList = Type.Object(
  {
    object: Type.Literal('list'),
    data: Type.Array(
      Type.Object({
        object: Type.Literal('embedding'),
        index: Type.Integer({ description: 'The position of the input, from 0.' }),
        embedding: Type.Union([Type.Array(Type.Number()), Type.String()], {
          description: 'Numbers, or base64 of float32 numbers, little-endian.',
        }),
      }),
    ),
    model: Type.String(),
    usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
  },
  { title: 'EmbeddingList' },
);
export type EmbeddingList = ValueOf<typeof EmbeddingList>;
