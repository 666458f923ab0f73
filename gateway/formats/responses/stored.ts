// What a responses request refers to, and what is stored of a response so that later requests may refer to it. Pure.
import { AppError } from '#client/errors/app-error.js';
import { fieldError } from '../requests/body-reader.js';
import type { References, StoredInput, StoreFailure } from '../format.js';
import { isObject, type JsonObject } from '../rest.js';
import { inputItemId } from './ids.js';

/** What is stored of a response under its id. Its output items are also stored under their own ids. */
export interface StoredResponseJson {
  /** The answer as its client got it. */
  readonly response: JsonObject;
  /** The input items of its own request, without those of the responses before it. */
  readonly input: readonly JsonObject[];
  /** The ids of the responses that it continues, oldest first. */
  readonly previousIds: readonly string[];
}

/** Returns the ids that a body refers to, which may be malformed in any other respect. */
export function referencesOf(body: unknown): References {
  const { previous_response_id: previousId, input } = isObject(body) ? body : {};
  const itemIds = Array.isArray(input) ? input.filter(isReference).map(({ id }) => id) : [];
  return { previousId: typeof previousId === 'string' ? previousId : undefined, itemIds };
}

/** A body with what it refers to in place of the references. */
export interface ResolvedBody {
  readonly body: unknown;
  /** How the caller would write the path of each item of the input. */
  readonly paths: readonly string[];
  /** The items that the request itself brought. */
  readonly own: readonly JsonObject[];
}

/** Puts stored items in place of references. Raises not_found for a reference to an item that is not stored. */
export function resolveReferences(body: JsonObject, { continued, items }: StoredInput): ResolvedBody {
  const { input } = body;
  const own: JsonObject[] = [];
  const paths = continued.map(() => 'previous_response_id');
  const seen = new Set<string>();
  for (const [index, item] of listOf(input).entries()) {
    const path = `input[${index}]`;
    const id = isReference(item) ? item.id : undefined;
    // Clients may refer to a search twice, as the call and as its result.
    if (id !== undefined && seen.has(id)) continue;
    if (id !== undefined) seen.add(id);
    own.push(id === undefined ? item : (items.get(id) ?? missingItem(path, id)));
    paths.push(path);
  }
  const isAsSent = continued.length === 0 && !(Array.isArray(input) && input.some(isReference));
  return { body: isAsSent ? body : { ...body, input: [...continued, ...own] }, paths, own };
}

function missingItem(path: string, id: string): never {
  throw new AppError(
    'not_found',
    `${path}: Item with id '${id.slice(0, 100)}' not found: it was deleted or has expired, its response was not stored, or another platform key received it. Send the item itself.`,
    { details: { field: 'input', what: 'item' } },
  );
}

/** Returns input as items. */
function listOf(input: unknown): readonly JsonObject[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
  return Array.isArray(input) ? (input as JsonObject[]) : [];
}

function isReference(item: unknown): item is { readonly id: string } {
  return isObject(item) && item['type'] === 'item_reference' && typeof item['id'] === 'string';
}

/** Returns the error for a response that cannot be continued, as the vendor words it. */
export function missingResponse(id: string): AppError {
  return fieldError(
    'invalid_request',
    'previous_response_id',
    `Previous response with id '${id.slice(0, 100)}' not found: it was deleted or has expired, it was not stored, or another platform key received it. Send the whole conversation in input.`,
    { code: 'previous_response_not_found' },
  );
}

/** Returns the items that a response hands on to those that continue it. */
export function itemsOf({ response, input }: StoredResponseJson): JsonObject[] {
  return [...input, ...outputOf(response)];
}

/** Returns the output items of a response. */
export function outputOf(response: JsonObject): JsonObject[] {
  const { output } = response;
  return Array.isArray(output) ? (output as JsonObject[]) : [];
}

/** Returns input items as the vendor lists them: with ids, and the content of messages as parts. */
export function listedItems(responseId: string, input: readonly JsonObject[]): JsonObject[] {
  return input.map((item, index) => {
    const { type = 'message', id = inputItemId(responseId, index), ...rest } = item;
    if (type !== 'message') return { id, type, ...rest };
    const { content } = rest;
    const partType = rest['role'] === 'assistant' ? 'output_text' : 'input_text';
    const parts = typeof content === 'string' ? [{ type: partType, text: content }] : content;
    return { id, type, status: 'completed', ...rest, content: parts };
  });
}

/** What `store_failure` in an answer says. */
export const storeFailures: Readonly<Record<StoreFailure, string>> = {
  limit_reached:
    'The storage for responses of your account or of this gateway is full. Send the whole conversation in input, or delete responses.',
  too_large: 'The input and the output are larger than what this gateway stores. Send the whole conversation in input.',
  unavailable: 'The store could not be reached. Send the whole conversation in input.',
  expired: 'The response was deleted or has expired. Send the whole conversation in input.',
};
