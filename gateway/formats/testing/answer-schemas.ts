// Validates answers against the JSON Schemas of ../schemas, which follow the vendors' documentation and are independent of our own.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';

/** The schemas by their file names without extension. */
export type AnswerSchema =
  | 'chat-completion'
  | 'chat-completion-chunk'
  | 'chat-completion-error'
  | 'message'
  | 'message-stream-event'
  | 'message-error'
  | 'response'
  | 'response-stream-event'
  | 'token-count';

const folder = join(import.meta.dirname, '../schemas');
const ajv = new Ajv2020({ allErrors: true, strict: true, strictRequired: false, strictTypes: false, allowUnionTypes: true });
for (const name of readdirSync(folder)) ajv.addSchema(JSON.parse(readFileSync(join(folder, name), 'utf8')) as object);

/**
 * Returns what is wrong with a value, one line each; nothing if it matches the schema. With `openWords`, words that a vendor might add
 * (types, reasons, tiers) are accepted: an upstream of the caller's own format may send them.
 */
export function schemaFaults(schema: AnswerSchema, value: unknown, openWords = false): string[] {
  const validate = ajv.getSchema(`${schema}.json`)!;
  if (validate(value) === true) return [];
  const faults = (validate.errors ?? []).filter(({ keyword }) => keyword !== 'if' && !(openWords && keyword === 'enum'));
  return faults.map(({ instancePath, message, params }) => `${instancePath || '/'} ${message ?? 'is wrong'} ${JSON.stringify(params)}`);
}
