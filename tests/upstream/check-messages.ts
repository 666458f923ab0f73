// The rules for POST /messages and POST /messages/count_tokens.
import { insist, type Json, listOf, objectOf, range, Refused, textOf } from './check.js';

const promptFields = ['system', 'tools', 'tool_choice', 'thinking', 'output_config', 'cache_control'];
const generationFields = ['stop_sequences', 'stream', 'metadata', 'service_tier'];
const samplingFields = ['temperature', 'top_p', 'top_k'];

/** The vendor versions that the stub knows. */
export const messagesVersions = ['2023-06-01', '2026-10-21'];

/** Raises Refused for what the vendor answers with 400, in the given version. */
export function checkMessages(value: unknown, version: string): Json {
  const allowed = version === '2023-06-01' ? [...promptFields, ...generationFields, ...samplingFields] : [...promptFields, ...generationFields];
  const body = objectOf(value, '', ['model', 'max_tokens', 'messages'], allowed);
  insist(Number.isInteger(body['max_tokens']) && (body['max_tokens'] as number) >= 0, 'max_tokens: Input should be a valid integer', 'max_tokens');
  range(body['temperature'], 'temperature', 0, 1);
  range(body['top_p'], 'top_p', 0, 1);
  if (body['metadata'] !== undefined) objectOf(body['metadata'], 'metadata', [], ['user_id']);
  if (body['stop_sequences'] !== undefined) {
    const blank = listOf(body['stop_sequences'], 'stop_sequences').some((sequence) => textOf(sequence, 'stop_sequences').trim() === '');
    insist(!blank, 'stop_sequences: each stop sequence must contain non-whitespace', 'stop_sequences');
  }
  checkPrompt(body, body['max_tokens'] as number);
  return body;
}

/** The same for counting tokens. */
export function checkCountTokens(value: unknown): Json {
  const body = objectOf(value, '', ['model', 'messages'], promptFields);
  checkPrompt(body, Number.MAX_SAFE_INTEGER);
  return body;
}

function checkPrompt(body: Json, maxTokens: number): void {
  textOf(body['model'], 'model');
  if (body['system'] !== undefined && typeof body['system'] !== 'string') {
    for (const [index, block] of listOf(body['system'], 'system').entries()) checkText(block, `system.${index}`);
  }
  checkConversation(listOf(body['messages'], 'messages'));
  checkTools(body);
  if (body['output_config'] !== undefined) {
    const { effort } = objectOf(body['output_config'], 'output_config', [], ['effort', 'format']);
    insist(['low', 'medium', 'high', 'xhigh', 'max'].includes(effort as string), 'output_config.effort: Input should be low, medium, high, xhigh or max');
  }
  checkThinking(body['thinking'], maxTokens);
}

function checkThinking(value: unknown, maxTokens: number): void {
  if (value === undefined) return;
  const thinking = objectOf(value, 'thinking', ['type'], ['budget_tokens', 'display']);
  if (thinking['type'] === 'disabled' || thinking['type'] === 'adaptive') return insist(thinking['budget_tokens'] === undefined, 'thinking.budget_tokens: Extra inputs are not permitted');
  insist(thinking['type'] === 'enabled', 'thinking.type: unknown value');
  const budget = thinking['budget_tokens'];
  insist(typeof budget === 'number' && budget >= 1024, 'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024');
  insist((budget as number) < maxTokens, '`max_tokens` must be greater than `thinking.budget_tokens`.');
}

function checkTools(body: Json): void {
  if (body['tools'] === undefined) return insist(body['tool_choice'] === undefined, 'tool_choice: requires tools');
  const names = listOf(body['tools'], 'tools').map((entry, index) => {
    const tool = objectOf(entry, `tools.${index}`, ['name', 'input_schema'], ['description', 'strict', 'cache_control', 'type']);
    insist((tool['input_schema'] as Json | null)?.['type'] === 'object', `tools.${index}.custom.input_schema.type: Input should be 'object'`);
    const name = textOf(tool['name'], `tools.${index}.name`);
    insist(/^[a-zA-Z0-9_-]{1,128}$/.test(name), `tools.${index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'`);
    return name;
  });
  if (body['tool_choice'] === undefined) return;
  const choice = objectOf(body['tool_choice'], 'tool_choice', ['type'], ['name', 'disable_parallel_tool_use']);
  insist(['auto', 'any', 'tool', 'none'].includes(choice['type'] as string), 'tool_choice.type: unknown value');
  if (choice['type'] === 'tool') insist(names.includes(textOf(choice['name'], 'tool_choice.name')), 'tool_choice: no such tool');
}

function checkConversation(messages: unknown[]): void {
  let pending: string[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages.${index}`;
    const message = objectOf(value, path, ['role', 'content']);
    insist(['user', 'assistant', 'system'].includes(message['role'] as string), `${path}.role: Input should be 'user', 'assistant' or 'system'`);
    insist(index > 0 || message['role'] === 'user', `${path}: the first message must have the role user`);
    const blocks = typeof message['content'] === 'string' ? [{ type: 'text', text: message['content'] }] : listOf(message['content'], `${path}.content`);
    const results = blocks.filter((block) => (block as Json)['type'] === 'tool_result').map((block) => textOf((block as Json)['tool_use_id'], `${path}.tool_use_id`));
    const missing = pending.filter((id) => !results.includes(id));
    insist(missing.length === 0, `${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}.`);
    insist(results.every((id) => pending.includes(id)), `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks`);
    const resultsComeFirst = blocks.slice(0, results.length).every((block) => (block as Json)['type'] === 'tool_result');
    insist(resultsComeFirst, `${path}: tool_result blocks must come first`);
    pending = blocks.flatMap((block, at) => checkBlock(block, `${path}.content.${at}`, message['role'] as string));
  }
  insist(pending.length === 0, `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${pending.join(', ')}.`);
}

/** The ids of tool calls that must be answered next. */
function checkBlock(value: unknown, path: string, role: string): string[] {
  switch ((value as Json | null)?.['type']) {
    case 'text':
      checkText(value, path);
      return [];
    case 'tool_result':
      insist(role === 'user', `${path}: \`tool_result\` blocks can only be in \`user\` messages`);
      objectOf(value, path, ['type', 'tool_use_id'], ['content', 'is_error', 'cache_control']);
      return [];
    case 'tool_use': {
      insist(role === 'assistant', `${path}: \`tool_use\` blocks can only be in \`assistant\` messages`);
      const block = objectOf(value, path, ['type', 'id', 'name', 'input'], ['cache_control', 'caller']);
      objectOf(block['input'], `${path}.input`, [], Object.keys((block['input'] ?? {}) as Json));
      const id = textOf(block['id'], `${path}.id`);
      insist(/^[a-zA-Z0-9_-]+$/.test(id), `${path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      return [id];
    }
    case 'thinking':
      insist(role === 'assistant', `${path}: thinking only in assistant messages`);
      insist(textOf(objectOf(value, path, ['type', 'thinking', 'signature'])['signature'], `${path}.signature`) !== '', `${path}.signature: Field required`);
      return [];
    case 'redacted_thinking':
      objectOf(value, path, ['type', 'data']);
      return [];
    default:
      throw new Refused(`${path}.type: Input should be a known block type`);
  }
}

function checkText(value: unknown, path: string): void {
  const block = objectOf(value, path, ['type', 'text'], ['cache_control', 'citations']);
  insist(textOf(block['text'], `${path}.text`) !== '', `${path}: text content blocks must be non-empty`);
}
