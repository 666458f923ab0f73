// The rules for POST /chat/completions.
import { insist, type Json, listOf, objectOf, range, Refused, textOf } from './check.js';

const optionalFields = [
  'max_completion_tokens', 'max_tokens', 'temperature', 'top_p', 'frequency_penalty', 'presence_penalty', 'logit_bias', 'logprobs', 'top_logprobs', 'n',
  'seed', 'stop', 'stream', 'stream_options', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'reasoning_effort', 'verbosity', 'metadata',
  'store', 'service_tier', 'user', 'safety_identifier', 'prompt_cache_key',
];

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Raises Refused for what the vendor answers with 400. */
export function checkChatCompletions(value: unknown): Json {
  const body = objectOf(value, '', ['model', 'messages'], optionalFields);
  textOf(body['model'], 'model');
  checkMessages(listOf(body['messages'], 'messages'));
  range(body['max_completion_tokens'], 'max_completion_tokens', 1, 10_000_000);
  range(body['max_tokens'], 'max_tokens', 1, 10_000_000);
  range(body['temperature'], 'temperature', 0, 2);
  range(body['top_p'], 'top_p', 0, 1);
  range(body['frequency_penalty'], 'frequency_penalty', -2, 2);
  range(body['presence_penalty'], 'presence_penalty', -2, 2);
  insist(body['seed'] === undefined || Number.isSafeInteger(body['seed']), 'seed: Input should be an integer', 'seed');
  if (body['stop'] !== undefined) insist(Array.isArray(body['stop']) && body['stop'].length <= 4, 'stop: at most 4 sequences', 'stop');
  if (body['reasoning_effort'] !== undefined) insist(efforts.includes(textOf(body['reasoning_effort'], 'reasoning_effort')), 'reasoning_effort: unknown value');
  if (body['stream_options'] !== undefined) {
    insist(body['stream'] === true, "The 'stream_options' parameter is only allowed when 'stream' is enabled.", 'stream_options');
    objectOf(body['stream_options'], 'stream_options', [], ['include_usage', 'include_obfuscation']);
  }
  checkTools(body);
  return body;
}

function checkTools(body: Json): void {
  if (body['tools'] === undefined) {
    for (const field of ['tool_choice', 'parallel_tool_calls']) insist(body[field] === undefined, `'${field}' is only allowed when 'tools' are specified.`, field);
    return;
  }
  const names = listOf(body['tools'], 'tools').map((entry, index) => {
    const tool = objectOf(entry, `tools.${index}`, ['type', 'function']);
    insist(tool['type'] === 'function', `tools.${index}.type: unknown value`, 'tools');
    const fn = objectOf(tool['function'], `tools.${index}.function`, ['name'], ['description', 'parameters', 'strict']);
    return toolName(fn['name'], `tools.${index}.function.name`);
  });
  const choice = body['tool_choice'];
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return;
  const named = objectOf(objectOf(choice, 'tool_choice', ['type', 'function'])['function'], 'tool_choice.function', ['name']);
  insist(names.includes(textOf(named['name'], 'tool_choice.function.name')), 'tool_choice: no such tool', 'tool_choice');
}

function checkMessages(messages: unknown[]): void {
  let pending: string[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages.${index}`;
    const role = typeof value === 'object' && value !== null ? (value as Json)['role'] : undefined;
    if (role === 'tool') {
      const id = textOf(objectOf(value, path, ['role', 'content', 'tool_call_id'])['tool_call_id'], `${path}.tool_call_id`);
      insist(pending.includes(id), `${path}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`, 'messages');
      pending = pending.filter((other) => other !== id);
      continue;
    }
    insist(pending.length === 0, `${path}: tool_call_ids did not have response messages: ${pending.join(', ')}`, 'messages');
    pending = checkMessage(value, path, role);
  }
  insist(pending.length === 0, `tool_call_ids did not have response messages: ${pending.join(', ')}`, 'messages');
}

/** The tool call ids that must be answered next. */
function checkMessage(value: unknown, path: string, role: unknown): string[] {
  if (role === 'system' || role === 'developer' || role === 'user') {
    checkContent(objectOf(value, path, ['role', 'content'], ['name'])['content'], path);
    return [];
  }
  if (role !== 'assistant') throw new Refused(`${path}.role: Invalid value`, 'messages');
  const message = objectOf(value, path, ['role'], ['content', 'refusal', 'name', 'tool_calls', 'reasoning_content']);
  if (message['tool_calls'] === undefined) {
    checkContent(message['content'], path);
    return [];
  }
  return listOf(message['tool_calls'], `${path}.tool_calls`).map((entry, index) => {
    const call = objectOf(entry, `${path}.tool_calls.${index}`, ['id', 'type', 'function']);
    const fn = objectOf(call['function'], `${path}.tool_calls.${index}.function`, ['name', 'arguments']);
    toolName(fn['name'], `${path}.tool_calls.${index}.function.name`);
    textOf(fn['arguments'], `${path}.tool_calls.${index}.function.arguments`);
    return textOf(call['id'], `${path}.tool_calls.${index}.id`);
  });
}

function checkContent(content: unknown, path: string): void {
  if (typeof content === 'string') return;
  for (const [index, entry] of listOf(content, `${path}.content`).entries()) {
    const part = objectOf(entry, `${path}.content.${index}`, ['type', 'text']);
    insist(part['type'] === 'text', `${path}.content.${index}.type: Invalid value`, 'messages');
    textOf(part['text'], `${path}.content.${index}.text`);
  }
}

function toolName(value: unknown, path: string): string {
  const name = textOf(value, path);
  insist(/^[a-zA-Z0-9_-]{1,64}$/.test(name), `${path}: string does not match pattern '^[a-zA-Z0-9_-]{1,64}$'`, path);
  return name;
}
