// Equivalent requests of all formats.
import type { Json } from '../../upstream/checks/check.js';
import type { Path, WireName } from './paths.js';

/** The fields of a body for each caller's format. */
export type Bodies = Readonly<Record<WireName, Json>>;

const citySchema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false };
const zoneSchema = { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'], additionalProperties: false };

/** A conversation with one question. */
export const question: Bodies = {
  'chat-completions': { max_tokens: 200, messages: [{ role: 'user', content: 'Hello there' }] },
  messages: { max_tokens: 200, messages: [{ role: 'user', content: 'Hello there' }] },
  responses: { max_output_tokens: 200, input: 'Hello there', include: ['reasoning.encrypted_content'] },
};

/** The tools get_weather(city) and get_time(zone). */
export const tools: Bodies = {
  'chat-completions': {
    tools: [
      { type: 'function', function: { name: 'get_weather', description: 'The weather in a city.', parameters: citySchema } },
      { type: 'function', function: { name: 'get_time', description: 'The time in a zone.', parameters: zoneSchema } },
    ],
  },
  messages: {
    tools: [
      { name: 'get_weather', description: 'The weather in a city.', input_schema: citySchema },
      { name: 'get_time', description: 'The time in a zone.', input_schema: zoneSchema },
    ],
  },
  responses: {
    tools: [
      { type: 'function', name: 'get_weather', description: 'The weather in a city.', parameters: citySchema, strict: false },
      { type: 'function', name: 'get_time', description: 'The time in a zone.', parameters: zoneSchema, strict: false },
    ],
  },
};

/** Returns the body of a call on this path: the question, with usage requested, and with these additional fields. */
export function bodyFor(path: Path, more: Partial<Bodies> = {}): Json {
  const usage = path.client === 'chat-completions' && path.streaming ? { stream_options: { include_usage: true } } : {};
  return { ...question[path.client], ...usage, ...more[path.client] };
}
