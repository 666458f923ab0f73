// The sandbox's answer in the requested form: JSON that fits the schema. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { ResponseFormat } from '#proto/inference/v1/inference.js';
import { valueFor } from './schema-value.js';

/** Returns the answer's text in the requested form. Raises invalid_request for a schema that is not JSON. */
export function formed(text: string, responseFormat: ResponseFormat | undefined): string {
  switch (responseFormat?.format?.$case) {
    case 'jsonObject':
      return JSON.stringify({ text });
    case 'jsonSchema':
      return JSON.stringify(valueFor(parse(responseFormat.format.value.schemaJson), text));
    default:
      return text;
  }
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json) as unknown;
  } catch {
    throw new AppError('invalid_request', 'The schema of the answer is not JSON.', { details: { field: 'response_format' } });
  }
}
