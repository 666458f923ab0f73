// The rules for POST /responses.
import {
  anyObject,
  base64Of,
  insist,
  isJson,
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
import { checkParameters, checkStrictSchema } from './check-schema.js';
import type { VendorRules } from './rules.js';

// prettier-ignore
const fields = [
  'model', 'input', 'instructions', 'max_output_tokens', 'max_tool_calls', 'temperature', 'top_p', 'top_logprobs', 'stream', 'stream_options',
  'tools', 'tool_choice', 'parallel_tool_calls', 'text', 'reasoning', 'include', 'metadata', 'store', 'truncation', 'user',
  'safety_identifier', 'service_tier', 'prompt_cache_key', 'prompt_cache_options', 'prompt_cache_retention', 'background',
  'previous_response_id', 'conversation', 'prompt', 'moderation', 'context_management', 'image', 'access_programs',
];
const countedFields = ['model', 'input', 'instructions', 'parallel_tool_calls', 'reasoning', 'text', 'tool_choice', 'tools', 'truncation'];
const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];
/** The smallest output cap that the vendor accepts. */
const outputMin = 16;

/** Raises Refused if the vendor would respond with a 400. */
export function checkResponses(value: unknown, rules: VendorRules = {}): Json {
  const body = checkPrompt(value, fields, rules);
  const { isOpenAi = false, refusesSampling = false, outputTokensMax = 10_000_000 } = rules;
  wholeRange(body['max_output_tokens'], 'max_output_tokens', isOpenAi ? outputMin : 1, outputTokensMax);
  range(body['temperature'], 'temperature', 0, 2);
  range(body['top_p'], 'top_p', 0, 1);
  if (refusesSampling) {
    const unsupported = ['temperature', 'top_p', 'top_logprobs'].find((field) => body[field] !== undefined);
    insist(unsupported === undefined, `Unsupported parameter: '${unsupported}' is not supported with this model.`, unsupported);
  }
  optionalFlag(body['stream'], 'stream');
  if (body['stream_options'] !== undefined) {
    insist(body['stream'] === true, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
    objectOf(body['stream_options'], 'stream_options', [], ['include_obfuscation']);
  }
  // The operator's account must keep nothing of its callers.
  insist(body['store'] === false, 'store: Tollgate must set it to false', 'store');
  for (const field of ['previous_response_id', 'conversation', 'prompt', 'background', 'service_tier'])
    insist(body[field] === undefined, `${field}: Tollgate must not send it`, field);
  for (const entry of (body['include'] ?? []) as unknown[]) textOf(entry, 'include');
  return body;
}

/** Raises Refused if the vendor would respond with a 400 to POST /responses/input_tokens. */
export function checkInputTokens(value: unknown, rules: VendorRules = {}): Json {
  return checkPrompt(value, countedFields, rules);
}

function checkPrompt(value: unknown, known: readonly string[], rules: VendorRules): Json {
  const body = anyObject(value, '');
  const unknown = Object.keys(body).find((field) => !known.includes(field) && rules.knownFields?.includes(field) !== true);
  if (unknown !== undefined) throw new Refused(`Unknown parameter: '${unknown}'.`, unknown);
  textOf(body['model'], 'model');
  if (body['instructions'] !== undefined && body['instructions'] !== null) textOf(body['instructions'], 'instructions');
  if (typeof body['input'] !== 'string') checkItems(listOf(body['input'], 'input'), rules);
  checkTools(body, rules);
  checkTextFormat(body['text'], body['input']);
  checkReasoning(body['reasoning']);
  return body;
}

function checkItems(items: readonly unknown[], rules: VendorRules): void {
  const calls = new Map<string, string>();
  const answered = new Set<string>();
  for (const [index, value] of items.entries()) {
    const path = `input[${index}]`;
    const item = anyObject(value, path);
    const type = item['type'] ?? 'message';
    if (type === 'function_call' || type === 'custom_tool_call') {
      const said = type === 'function_call' ? 'arguments' : 'input';
      objectOf(item, path, ['type', 'call_id', 'name', said], ['id', 'status', 'namespace', 'caller']);
      textOf(item[said], `${path}.${said}`);
      nameOf(item['name'], `${path}.name`, 64);
      calls.set(callIdOf(item, path), type);
    } else if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      objectOf(item, path, ['type', 'call_id', 'output'], ['id', 'status']);
      const id = callIdOf(item, path);
      insist(`${calls.get(id)}_output` === type, `No tool call found for ${String(type).replace('_', ' ')} with call_id ${id}.`, 'input');
      answered.add(id);
      if (typeof item['output'] !== 'string') checkContent(item['output'], `${path}.output`, ['input_text', 'input_image', 'input_file']);
    } else if (type === 'reasoning') checkReasoningItem(item, path, rules);
    else if (type === 'message') checkMessage(item, path);
    else throw new Refused(`Invalid value: '${String(type)}'.`, `${path}.type`);
  }
  const open = [...calls.keys()].find((id) => !answered.has(id));
  insist(open === undefined, `No tool output found for function call ${open}.`, 'input');
}

function callIdOf(item: Json, path: string): string {
  const id = textOf(item['call_id'], `${path}.call_id`);
  insist(id !== '' && id.length <= 64, `Invalid '${path}.call_id': string too long. Expected a string with maximum length 64.`, 'input');
  return id;
}

function checkReasoningItem(item: Json, path: string, { isOpenAi = false }: VendorRules): void {
  objectOf(item, path, ['type', 'summary'], ['id', 'content', 'encrypted_content', 'status']);
  if (isOpenAi)
    insist(
      typeof item['encrypted_content'] === 'string',
      `Item with id '${String(item['id'])}' not found. Items are not persisted when \`store\` is set to false.`,
      'input',
    );
  const encrypted = item['encrypted_content'];
  insist(
    encrypted === undefined || encrypted === null || !textOf(encrypted, path).startsWith('tg'),
    'The encrypted content could not be verified.',
    'input',
  );
  for (const part of item['summary'] as unknown[]) objectOf(part, `${path}.summary`, ['type', 'text']);
}

function checkMessage(item: Json, path: string): void {
  objectOf(item, path, ['role', 'content'], ['type', 'id', 'status', 'phase']);
  const role = wordOf(item['role'], `${path}.role`, ['user', 'assistant', 'system', 'developer']);
  if (typeof item['content'] === 'string') return;
  const isAnswer = role === 'assistant';
  checkContent(item['content'], `${path}.content`, isAnswer ? ['output_text', 'refusal'] : ['input_text', 'input_image', 'input_file']);
}

function checkContent(content: unknown, path: string, kinds: readonly string[]): void {
  for (const [index, entry] of listOf(content, path).entries()) {
    const at = `${path}[${index}]`;
    switch (wordOf(anyObject(entry, at)['type'], `${at}.type`, kinds)) {
      case 'input_text':
        textOf(objectOf(entry, at, ['type', 'text'], ['prompt_cache_breakpoint'])['text'], `${at}.text`);
        break;
      case 'output_text':
        textOf(objectOf(entry, at, ['type', 'text'], ['annotations', 'logprobs'])['text'], `${at}.text`);
        break;
      case 'refusal':
        objectOf(entry, at, ['type', 'refusal']);
        break;
      case 'input_image':
        checkImage(objectOf(entry, at, ['type', 'image_url'], ['detail', 'prompt_cache_breakpoint']), at);
        break;
      default:
        checkFile(objectOf(entry, at, ['type'], ['file_data', 'file_url', 'filename', 'detail', 'prompt_cache_breakpoint']), at);
    }
  }
}

function checkImage(image: Json, path: string): void {
  if (image['detail'] !== undefined) wordOf(image['detail'], `${path}.detail`, ['auto', 'low', 'high', 'original']);
  const url = textOf(image['image_url'], `${path}.image_url`);
  const data = /^data:image\/(?:png|jpeg|gif|webp);base64,(.*)$/s.exec(url);
  if (data !== null) base64Of(data[1], `${path}.image_url`);
  else insist(/^https?:\/\/./.test(url), 'Invalid image URL.', `${path}.image_url`);
}

function checkFile(file: Json, path: string): void {
  if (file['file_url'] !== undefined) return insist(/^https?:\/\/./.test(textOf(file['file_url'], path)), 'Invalid file URL.', path);
  const data = /^data:application\/pdf;base64,(.*)$/s.exec(textOf(file['file_data'], `${path}.file_data`));
  insist(data !== null, `Invalid file data: '${path}.file_data'. Expected a base64-encoded data URL of a PDF.`, path);
  base64Of(data?.[1], `${path}.file_data`);
  textOf(file['filename'], `${path}.filename`);
}

function checkTools(body: Json, rules: VendorRules): void {
  const tools = body['tools'] === undefined ? [] : listOf(body['tools'], 'tools');
  const names = tools.map((tool, index) => checkTool(tool, `tools[${index}]`, rules));
  insist(new Set(names).size === names.length, 'tools: Tool names must be unique.', 'tools');
  optionalFlag(body['parallel_tool_calls'], 'parallel_tool_calls');
  const choice = body['tool_choice'];
  if (choice === undefined || choice === 'auto' || choice === 'none') return;
  insist(tools.length > 0, "Tool choice 'required' must be specified with 'tools' parameter.", 'tool_choice');
  if (choice === 'required') return;
  const type = wordOf(anyObject(choice, 'tool_choice')['type'], 'tool_choice.type', ['function', 'custom', 'allowed_tools']);
  if (type !== 'allowed_tools') {
    const { name } = objectOf(choice, 'tool_choice', ['type', 'name']);
    insist(
      names.includes(textOf(name, 'tool_choice.name')),
      `Tool choice '${String(name)}' not found in 'tools' parameter.`,
      'tool_choice',
    );
  }
}

function checkTool(value: unknown, path: string, rules: VendorRules): string {
  const { enforcesStrictTools = false } = rules;
  const type = wordOf(anyObject(value, path)['type'], `${path}.type`, [
    'function',
    'custom',
    'namespace',
    'web_search',
    'web_search_preview',
  ]);
  if (type.startsWith('web_search')) return type;
  if (type === 'namespace') {
    const { name, tools } = objectOf(value, path, ['type', 'name', 'description', 'tools']);
    for (const [index, tool] of listOf(tools, `${path}.tools`).entries()) checkTool(tool, `${path}.tools[${index}]`, rules);
    return nameOf(name, `${path}.name`, 64);
  }
  if (type === 'custom') {
    const { name, format } = objectOf(value, path, ['type', 'name'], ['description', 'format', 'defer_loading']);
    if (isJson(format)) wordOf(format['type'], `${path}.format.type`, ['text', 'grammar']);
    return nameOf(name, `${path}.name`, 64);
  }
  const { name, parameters, strict } = objectOf(value, path, ['type', 'name', 'parameters'], ['description', 'strict', 'defer_loading']);
  optionalFlag(strict, `${path}.strict`);
  if (parameters !== null) checkParameters(parameters, `${path}.parameters`);
  // Without the field, the vendor normalizes the schema for strict mode, and falls back to non-strict calls if it cannot.
  if (strict === true && enforcesStrictTools && parameters !== null) checkStrictSchema(parameters, `${path}.parameters`, true);
  return nameOf(name, `${path}.name`, 64);
}

function checkTextFormat(text: unknown, input: unknown): void {
  if (text === undefined || text === null) return;
  const { format } = objectOf(text, 'text', [], ['format', 'verbosity']);
  if (format === undefined) return;
  const type = wordOf(anyObject(format, 'text.format')['type'], 'text.format.type', ['text', 'json_object', 'json_schema']);
  if (type === 'json_object')
    insist(/json/i.test(JSON.stringify(input)), "Response input messages must contain the word 'json' in some form.", 'input');
  if (type !== 'json_schema') return;
  const { name, schema, strict } = objectOf(format, 'text.format', ['type', 'name', 'schema'], ['description', 'strict']);
  nameOf(name, 'text.format.name', 64);
  if (strict === true) checkStrictSchema(schema, 'text.format.schema', true);
}

function checkReasoning(reasoning: unknown): void {
  if (reasoning === undefined || reasoning === null) return;
  const { effort, summary } = objectOf(reasoning, 'reasoning', [], ['effort', 'summary', 'generate_summary', 'context', 'mode']);
  if (effort !== undefined && effort !== null) wordOf(effort, 'reasoning.effort', efforts);
  if (summary !== undefined && summary !== null) wordOf(summary, 'reasoning.summary', ['auto', 'concise', 'detailed']);
}
