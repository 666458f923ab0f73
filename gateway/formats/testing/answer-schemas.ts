// Validates answers against the JSON Schemas of schemas/, which follow the vendors' documentation and are independent of our own.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { chatCompletion, chatCompletionChunk, chatCompletionError } from './schemas/chat-completions.js';
import { message, messageError, messageStreamEvent, tokenCount } from './schemas/messages.js';
import { response, responseStreamEvent } from './schemas/responses.js';

const schemas = {
  'chat-completion': chatCompletion,
  'chat-completion-chunk': chatCompletionChunk,
  'chat-completion-error': chatCompletionError,
  message,
  'message-stream-event': messageStreamEvent,
  'message-error': messageError,
  response,
  'response-stream-event': responseStreamEvent,
  'token-count': tokenCount,
};
export type AnswerSchema = keyof typeof schemas;

const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, strictTypes: false, allowUnionTypes: true });
for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, name);

/**
 * Returns what is wrong with a value, one line each; nothing if it matches the schema. With `openWords`, words that a vendor might add
 * (types, reasons, tiers) are accepted: an upstream of the caller's own format may send them.
 */
export function schemaFaults(schema: AnswerSchema, value: unknown, openWords = false): string[] {
  const validate = ajv.getSchema(schema)!;
  if (validate(value) === true) return [];
  const faults = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if' && !(openWords && keyword === 'enum'));
  return faults.map(({ instancePath, message, params }) => `${instancePath || '/'} ${message ?? 'is wrong'} ${JSON.stringify(params)}`);
}
