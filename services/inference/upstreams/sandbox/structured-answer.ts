// The sandbox's answer in the requested form: JSON that fits the schema. Pure.
import type { ResponseFormat } from '#proto/inference/v1/inference.js';
import { answerSchema } from '../requests/answer-schema.js';
import { valueFor } from './schema-value.js';

/** Returns the answer's text in the requested form. Raises invalid_request for a schema that is not JSON. */
export function formed(text: string, responseFormat: ResponseFormat | undefined): string {
  switch (responseFormat?.format?.$case) {
    case 'jsonObject':
      return JSON.stringify({ text });
    case 'jsonSchema':
      return JSON.stringify(valueFor(answerSchema(responseFormat.format.value.schemaJson), text));
    default:
      return text;
  }
}
