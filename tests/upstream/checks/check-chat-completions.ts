// The rules for POST /chat/completions.
import {
  anyObject,
  insist,
  type Json,
  listOf,
  nameOf,
  objectOf,
  optionalFlag,
  range,
  Refused,
  textOf,
  wholeRange,
  wordOf,
} from './check.js';
import { checkChatMessages } from './check-chat-messages.js';
import { checkParameters, checkStrictSchema } from './check-schema.js';
import type { VendorRules } from './rules.js';

const fields = [
  'model',
  'messages',
  'max_completion_tokens',
  'max_tokens',
  'temperature',
  'top_p',
  'frequency_penalty',
  'presence_penalty',
  'logit_bias',
  'logprobs',
  'top_logprobs',
  'n',
  'seed',
  'stop',
  'stream',
  'stream_options',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'functions',
  'function_call',
  'response_format',
  'reasoning_effort',
  'verbosity',
  'modalities',
  'audio',
  'prediction',
  'moderation',
  'web_search_options',
  'metadata',
  'store',
  'service_tier',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
];
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
const sampling = ['temperature', 'top_p', 'frequency_penalty', 'presence_penalty', 'logprobs', 'top_logprobs', 'logit_bias'];

/** Raises Refused if the vendor would respond with a 400. */
export function checkChatCompletions(value: unknown, rules: VendorRules = {}): Json {
  const body = anyObject(value, '');
  const unknown = Object.keys(body).find((field) => !fields.includes(field) && rules.knownFields?.includes(field) !== true);
  if (unknown !== undefined) throw new Refused(`Unrecognized request argument supplied: ${unknown}`, unknown);
  insist(body['model'] !== undefined, 'you must provide a model parameter');
  textOf(body['model'], 'model');
  insist(body['messages'] !== undefined, "Missing required parameter: 'messages'.", 'messages');
  checkChatMessages(listOf(body['messages'], 'messages'), rules);
  checkCaps(body, rules);
  checkSampling(body);
  checkStream(body);
  checkResponseFormat(body, rules);
  checkTools(body, rules);
  checkRest(body);
  return body;
}

function checkCaps(body: Json, { isOpenAi = false, refusesSampling = false, outputTokensMax = 10_000_000 }: VendorRules): void {
  for (const field of ['max_completion_tokens', 'max_tokens']) {
    wholeRange(body[field], field, 1, Number.MAX_SAFE_INTEGER);
    insist(
      Number(body[field] ?? 0) <= outputTokensMax,
      `${field} is too large: this model supports at most ${outputTokensMax} completion tokens.`,
      field,
    );
  }
  if (!isOpenAi) return;
  const both = body['max_tokens'] !== undefined && body['max_completion_tokens'] !== undefined;
  insist(!both, "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.", 'max_tokens');
  if (!refusesSampling) return;
  const unsupported = ['max_tokens', 'stop', ...sampling].find(
    (field) => body[field] !== undefined && !(field === 'temperature' && body[field] === 1),
  );
  const hint = unsupported === 'max_tokens' ? " Use 'max_completion_tokens' instead." : '';
  insist(unsupported === undefined, `Unsupported parameter: '${unsupported}' is not supported with this model.${hint}`, unsupported);
}

function checkSampling(body: Json): void {
  range(body['temperature'], 'temperature', 0, 2);
  range(body['top_p'], 'top_p', 0, 1);
  range(body['frequency_penalty'], 'frequency_penalty', -2, 2);
  range(body['presence_penalty'], 'presence_penalty', -2, 2);
  wholeRange(body['n'], 'n', 1, 128);
  wholeRange(body['seed'], 'seed', -Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER);
  optionalFlag(body['logprobs'], 'logprobs');
  wholeRange(body['top_logprobs'], 'top_logprobs', 0, 20);
  if (typeof body['top_logprobs'] === 'number')
    insist(body['logprobs'] === true, "The 'top_logprobs' parameter is only allowed when 'logprobs' is enabled.", 'top_logprobs');
  for (const [token, bias] of Object.entries((body['logit_bias'] ?? {}) as Json)) {
    insist(/^\d+$/.test(token), `logit_bias: '${token}' is not a token id`, 'logit_bias');
    range(bias, `logit_bias.${token}`, -100, 100);
  }
  if (typeof body['stop'] === 'string' || body['stop'] === undefined || body['stop'] === null) return;
  const stops = listOf(body['stop'], 'stop');
  insist(
    stops.length <= 4,
    `Invalid 'stop': array too long. Expected an array with maximum length 4, but got an array with length ${stops.length} instead.`,
    'stop',
  );
  for (const stop of stops) textOf(stop, 'stop');
}

function checkStream(body: Json): void {
  optionalFlag(body['stream'], 'stream');
  if (body['stream_options'] === undefined || body['stream_options'] === null) return;
  insist(body['stream'] === true, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
  objectOf(body['stream_options'], 'stream_options', [], ['include_usage', 'include_obfuscation']);
}

function checkResponseFormat(body: Json, { isOpenAi = false }: VendorRules): void {
  const format = body['response_format'];
  if (format === undefined || format === null) return;
  const type = wordOf((format as Json)['type'], 'response_format.type', ['text', 'json_object', 'json_schema']);
  if (type !== 'json_schema') {
    objectOf(format, 'response_format', ['type']);
    const saysJson = /json/i.test(JSON.stringify(body['messages']));
    insist(
      type === 'text' || !isOpenAi || saysJson,
      "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
      'messages',
    );
    return;
  }
  const wrapped = objectOf(format, 'response_format', ['type', 'json_schema'])['json_schema'];
  const { name, schema, strict } = objectOf(wrapped, 'response_format.json_schema', ['name'], ['description', 'schema', 'strict']);
  nameOf(name, 'response_format.json_schema.name', 64);
  optionalFlag(strict, 'response_format.json_schema.strict');
  if (strict === true) checkStrictSchema(schema, 'response_format.json_schema.schema', true);
}

function checkTools(body: Json, rules: VendorRules): void {
  if (body['tools'] === undefined) {
    for (const field of ['tool_choice', 'parallel_tool_calls'])
      insist(body[field] === undefined, `'${field}' is only allowed when 'tools' are specified.`, field);
    return;
  }
  const tools = listOf(body['tools'], 'tools');
  insist(
    tools.length <= 128,
    `Invalid 'tools': array too long. Expected an array with maximum length 128, but got ${tools.length}.`,
    'tools',
  );
  const names = tools.map((entry, index) => checkTool(entry, `tools.${index}`, rules));
  insist(new Set(names).size === names.length, 'tools: Tool names must be unique.', 'tools');
  optionalFlag(body['parallel_tool_calls'], 'parallel_tool_calls');
  checkToolChoice(body['tool_choice'], names);
}

function checkTool(value: unknown, path: string, { enforcesStrictTools = false }: VendorRules): string {
  const tool = objectOf(value, path, ['type'], ['function', 'custom']);
  if (wordOf(tool['type'], `${path}.type`, ['function', 'custom']) === 'custom') {
    const custom = objectOf(tool['custom'], `${path}.custom`, ['name'], ['description', 'format']);
    if (custom['format'] !== undefined) wordOf((custom['format'] as Json)['type'], `${path}.custom.format.type`, ['text', 'grammar']);
    return nameOf(custom['name'], `${path}.custom.name`, 64);
  }
  const fn = objectOf(tool['function'], `${path}.function`, ['name'], ['description', 'parameters', 'strict']);
  if (fn['description'] !== undefined) textOf(fn['description'], `${path}.function.description`);
  if (fn['parameters'] !== undefined) {
    if (Object.keys(anyObject(fn['parameters'], `${path}.function.parameters`)).length > 0)
      checkParameters(fn['parameters'], `${path}.function.parameters`);
    if (fn['strict'] === true && enforcesStrictTools) checkStrictSchema(fn['parameters'], `${path}.function.parameters`, true);
  }
  return nameOf(fn['name'], `${path}.function.name`, 64);
}

function checkToolChoice(choice: unknown, names: readonly string[]): void {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return;
  const { type } = anyObject(choice, 'tool_choice');
  if (type === 'allowed_tools') {
    const { mode, tools } = objectOf(
      objectOf(choice, 'tool_choice', ['type', 'allowed_tools'])['allowed_tools'],
      'tool_choice.allowed_tools',
      ['mode', 'tools'],
    );
    wordOf(mode, 'tool_choice.allowed_tools.mode', ['auto', 'required']);
    for (const tool of listOf(tools, 'tool_choice.allowed_tools.tools')) checkToolChoice(tool, names);
    return;
  }
  const kind = wordOf(type, 'tool_choice.type', ['function', 'custom']);
  const named = objectOf(objectOf(choice, 'tool_choice', ['type', kind])[kind], `tool_choice.${kind}`, ['name']);
  insist(names.includes(textOf(named['name'], 'tool_choice.name')), 'tool_choice: no such tool', 'tool_choice');
}

function checkRest(body: Json): void {
  if (body['reasoning_effort'] !== undefined && body['reasoning_effort'] !== null)
    wordOf(body['reasoning_effort'], 'reasoning_effort', efforts);
  if (body['verbosity'] !== undefined && body['verbosity'] !== null) wordOf(body['verbosity'], 'verbosity', ['low', 'medium', 'high']);
  const pairs = Object.entries((body['metadata'] ?? {}) as Json);
  insist(pairs.length <= 16, 'metadata: at most 16 pairs', 'metadata');
  for (const [key, value] of pairs)
    insist(key.length <= 64 && textOf(value, `metadata.${key}`).length <= 512, `metadata.${key}: string too long`, 'metadata');
  for (const field of ['user', 'safety_identifier', 'prompt_cache_key']) {
    if (body[field] === undefined || body[field] === null) continue;
    insist(
      field !== 'safety_identifier' || textOf(body[field], field).length <= 64,
      `Invalid '${field}': string too long. Expected a string with maximum length 64.`,
      field,
    );
  }
}
