// The rules for POST /messages and POST /messages/count_tokens.
import { checkCacheControl } from './check-cache-control.js';
import { anyObject, insist, type Json, listOf, objectOf, range, Refused, textOf, wholeRange, wordOf } from './check.js';
import { checkConversation, checkText } from './check-conversation.js';
import { checkMessagesTools } from './check-messages-tools.js';
import { checkStrictSchema } from './check-schema.js';
import type { VendorRules } from './rules.js';

const promptFields = ['model', 'messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config', 'cache_control', 'speed'];
const generationFields = [
  'max_tokens',
  'stop_sequences',
  'stream',
  'metadata',
  'service_tier',
  'container',
  'inference_geo',
  'diagnostics',
];
const samplingFields = ['temperature', 'top_p', 'top_k'];
/** Fields that require a beta flag with this prefix. */
const betaFields: Readonly<Record<string, string>> = {
  context_management: 'context-management-',
  output_format: 'structured-outputs-',
  mcp_servers: 'mcp-client-',
};

/** The versions of the format that the stub supports. */
export const messagesVersions = ['2023-06-01', '2026-10-21'];

/** Raises Refused if the vendor would respond with a 400, in this version and with these beta flags. */
export function checkMessages(value: unknown, version: string, rules: VendorRules = {}, betas: readonly string[] = []): Json {
  const body = known(value, [...promptFields, ...generationFields, ...(version === '2023-06-01' ? samplingFields : [])], rules, betas);
  insist(body['max_tokens'] !== undefined, 'max_tokens: Field required', 'max_tokens');
  wholeRange(body['max_tokens'], 'max_tokens', 0, rules.outputTokensMax ?? Number.MAX_SAFE_INTEGER);
  checkSampling(body, rules);
  if (body['metadata'] !== undefined) {
    const { user_id: user } = objectOf(body['metadata'], 'metadata', [], ['user_id']);
    insist(
      user === undefined || user === null || textOf(user, 'metadata.user_id').length <= 256,
      'metadata.user_id: String should have at most 256 characters',
    );
  }
  if (body['service_tier'] !== undefined) wordOf(body['service_tier'], 'service_tier', ['auto', 'standard_only']);
  if (body['stop_sequences'] !== undefined) {
    const sequences = body['stop_sequences'] as unknown[];
    insist(Array.isArray(sequences), 'stop_sequences: Input should be a valid list');
    insist(
      sequences.every((sequence) => textOf(sequence, 'stop_sequences').trim() !== ''),
      'stop_sequences: each stop sequence must contain non-whitespace',
      'stop_sequences',
    );
  }
  checkPrompt(body, version, rules, betas, body['max_tokens'] as number);
  return body;
}

/** Raises Refused if the vendor would respond with a 400 to a request to count tokens. */
export function checkCountTokens(value: unknown, version = '2023-06-01', rules: VendorRules = {}, betas: readonly string[] = []): Json {
  const body = known(value, promptFields, rules, betas);
  checkPrompt(body, version, rules, betas, Number.MAX_SAFE_INTEGER);
  return body;
}

function known(value: unknown, fields: readonly string[], rules: VendorRules, betas: readonly string[]): Json {
  const body = anyObject(value, '');
  for (const field of Object.keys(body)) {
    const flag = Object.hasOwn(betaFields, field) ? betaFields[field] : undefined;
    const isKnown =
      flag === undefined
        ? fields.includes(field) || rules.knownFields?.includes(field) === true
        : betas.some((beta) => beta.startsWith(flag));
    if (!isKnown) throw new Refused(`${field}: Extra inputs are not permitted`, field);
  }
  for (const field of ['model', 'messages']) insist(body[field] !== undefined, `${field}: Field required`, field);
  return body;
}

function checkSampling(body: Json, { refusesSampling = false, limitsThinking = false }: VendorRules): void {
  range(body['temperature'], 'temperature', 0, 1);
  range(body['top_p'], 'top_p', 0, 1);
  wholeRange(body['top_k'], 'top_k', 0, Number.MAX_SAFE_INTEGER);
  const { temperature, top_p: topP, top_k: topK } = body;
  if (refusesSampling) {
    insist(
      (temperature === undefined || temperature === 1) && (topP === undefined || (topP as number) >= 0.99),
      '`temperature` and `top_p` are not supported by this model',
    );
    insist(topK === undefined, '`top_k` is not supported by this model');
  }
  if (!limitsThinking || (body['thinking'] as Json | undefined)?.['type'] !== 'enabled') return;
  insist(temperature === undefined || temperature === 1, '`temperature` may only be set to 1 when thinking is enabled.', 'temperature');
  insist(topK === undefined, '`top_k` must be unset when thinking is enabled.', 'top_k');
  insist(
    topP === undefined || (topP as number) >= 0.95,
    '`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.',
    'top_p',
  );
}

function checkPrompt(body: Json, version: string, rules: VendorRules, betas: readonly string[], maxTokens: number): void {
  textOf(body['model'], 'model');
  if (body['system'] !== undefined && typeof body['system'] !== 'string') {
    for (const [index, block] of listOf(body['system'], 'system').entries()) checkText(block, `system.${index}`);
  }
  checkCacheControl(body);
  checkOutputConfig(body['output_config'], betas);
  checkThinking(body['thinking'], maxTokens, rules, betas);
  checkMessagesTools(body, rules);
  checkConversation(listOf(body['messages'], 'messages'), {
    version,
    thinks: (body['thinking'] as Json | undefined)?.['type'] === 'enabled',
    betas,
    ...rules,
  });
}

function checkOutputConfig(value: unknown, betas: readonly string[]): void {
  if (value === undefined) return;
  const { effort, format } = objectOf(
    value,
    'output_config',
    [],
    ['effort', 'format', ...(betas.some((beta) => beta.startsWith('task-budgets-')) ? ['task_budget'] : [])],
  );
  if (effort !== undefined && effort !== null) wordOf(effort, 'output_config.effort', ['low', 'medium', 'high', 'xhigh', 'max']);
  if (format === undefined || format === null) return;
  const { type, schema } = objectOf(format, 'output_config.format', ['type', 'schema']);
  wordOf(type, 'output_config.format.type', ['json_schema']);
  checkStrictSchema(schema, 'output_config.format.schema', false);
}

function checkThinking(
  value: unknown,
  maxTokens: number,
  { thinkingTypes = ['enabled', 'adaptive', 'between_tools', 'disabled'] }: VendorRules,
  betas: readonly string[],
): void {
  if (value === undefined) return;
  const binding = betas.some((beta) => beta.startsWith('thinking-binding-controls-')) ? ['block_binding'] : [];
  const thinking = objectOf(value, 'thinking', ['type'], ['budget_tokens', 'display', ...binding]);
  const type = wordOf(thinking['type'], 'thinking.type', thinkingTypes);
  if (thinking['display'] !== undefined && thinking['display'] !== null) {
    insist(type !== 'disabled', 'thinking.disabled.display: Extra inputs are not permitted');
    const updates = betas.some((beta) => beta.startsWith('thinking-display-updates-')) ? ['updates'] : [];
    wordOf(thinking['display'], `thinking.${type}.display`, ['summarized', 'omitted', ...updates]);
  }
  const budget = thinking['budget_tokens'];
  if (type !== 'enabled') return insist(budget === undefined, `thinking.${type}.budget_tokens: Extra inputs are not permitted`);
  insist(
    Number.isSafeInteger(budget) && (budget as number) >= 1024,
    'thinking.enabled.budget_tokens: Input should be greater than or equal to 1024',
  );
  insist((budget as number) < maxTokens, '`max_tokens` must be greater than `thinking.budget_tokens`.');
}
