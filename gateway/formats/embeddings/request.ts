// A request for embeddings → the common inference call: each text is a message of the user.
import { type TSchema, Type } from 'typebox';
import { ApiFormat, type Message, Role } from '#proto/inference/v1/inference.js';
import { bodyReader } from '../requests/body-reader.js';
import { endUserOf } from '../requests/end-user.js';
import { type ParsedCall, unfilledRequest } from '../format.js';
import { inputTokensMax, messageOverhead } from '../requests/input-bound.js';
import { isKnownInOtherCase, onlyFields } from '../requests/native-fields.js';
import { Demands } from '../requests/required-capabilities.js';
import { EmbeddingsRequest, inputForms } from './schema.js';

const readerOf = <S extends TSchema>(input: S) => bodyReader(Type.Object({ ...EmbeddingsRequest.properties, input }), 'brackets');

/** A reader for each form of the inputs: of a union, it would be uncertain which form is meant by inputs with a fault. */
const readers = {
  text: readerOf(inputForms.text),
  texts: readerOf(inputForms.texts),
  tokens: readerOf(inputForms.tokens),
  tokenLists: readerOf(inputForms.tokenLists),
};

/** Validates and translates a body. Raises invalid_request with details.field. */
export function parseEmbeddings(value: unknown): ParsedCall {
  const form = formOf((value as { input?: unknown } | null)?.input);
  const body = readers[form](value) as EmbeddingsRequest;
  const { texts, tokens } = inputsOf(body.input, form);
  const inputs = texts.length + tokens.length;
  const demands = new Demands();
  demands.addUnhonoured(body, EmbeddingsRequest);
  const { properties } = EmbeddingsRequest;
  const others = Object.keys(body).filter((name) => !Object.hasOwn(properties, name) && !isKnownInOtherCase(name, properties));
  const otherFieldsJson = onlyFields(body, others);
  const prompt = { system: [], messages: texts.map(messageOf), tools: [], toolChoice: undefined, systemCacheTtls: {} };
  const tokenCount = tokens.reduce((sum, { ids }) => sum + ids.length + messageOverhead, 0);
  return {
    model: body.model,
    streaming: false,
    maxOutputTokens: 0,
    request: {
      ...unfilledRequest,
      prompt,
      sampling: undefined,
      stopSequences: [],
      reasoning: undefined,
      endUser: endUserOf(body.user),
      streaming: false,
      native:
        otherFieldsJson === ''
          ? undefined
          : {
              format: ApiFormat.API_FORMAT_CHAT_COMPLETIONS,
              fieldsJson: '',
              otherFieldsJson,
              messagesBetas: [],
              droppedElsewhere: demands.droppedElsewhere.names,
              refusedElsewhere: [],
              vendorTools: [],
            },
      responseFormat: undefined,
      choices: 1,
      embedding: { tokenInputs: tokens, dimensions: body.dimensions ?? undefined },
    },
    includeUsage: false,
    // A server may put what an unknown field says before each of the inputs.
    inputTokensMax: inputTokensMax(prompt) + tokenCount + Buffer.byteLength(otherFieldsJson) * inputs,
    inputs,
    images: 0,
    documents: 0,
    needs: [],
    droppedFields: demands.dropped.names,
    vectorEncoding: body.encoding_format ?? 'float',
  };
}

function formOf(input: unknown): keyof typeof readers {
  if (!Array.isArray(input)) return 'text';
  const [first] = input as unknown[];
  if (typeof first === 'number') return 'tokens';
  return Array.isArray(first) ? 'tokenLists' : 'texts';
}

function inputsOf(input: unknown, form: keyof typeof readers): { texts: readonly string[]; tokens: { ids: number[] }[] } {
  if (form === 'text' || form === 'texts') return { texts: [input].flat() as string[], tokens: [] };
  const lists = (form === 'tokens' ? [input] : input) as number[][];
  return { texts: [], tokens: lists.map((ids) => ({ ids })) };
}

function messageOf(text: string): Message {
  return { role: Role.ROLE_USER, parts: [{ part: { $case: 'text', value: { text } } }] };
}
