// The rules for the messages of a messages request: roles, blocks, and answers to tool calls.
import { anyObject, base64Of, insist, type Json, listOf, objectOf, Refused, textOf, wordOf } from './check.js';
import type { VendorRules } from './rules.js';

/** The rules for a conversation and what they depend on. */
export interface ConversationRules extends VendorRules {
  readonly version: string;
  /** Whether thinking is enabled with a budget. */
  readonly thinks: boolean;
  readonly betas: readonly string[];
}

/** Fields of system messages that require a beta flag with this prefix. */
const betaFields: Readonly<Record<string, string>> = {
  output_config: 'mid-conversation-output-config-',
  clear_at: 'mid-conversation-system-clear-at-',
};

/** Raises Refused if the vendor would respond with a 400. */
export function checkConversation(messages: unknown[], rules: ConversationRules): void {
  let pending: string[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages.${index}`;
    const role = wordOf(anyObject(value, path)['role'], `${path}.role`, ['user', 'assistant', 'system']);
    const flagged = Object.keys(betaFields).filter((field) => rules.betas.some((beta) => beta.startsWith(betaFields[field]!)));
    const message = objectOf(value, path, ['role', 'content'], role === 'system' ? flagged : []);
    insist(index > 0 || role !== 'system', `${path}: use the top-level 'system' parameter for the initial system prompt`);
    insist(index > 0 || role === 'user', `${path}: the first message must have the role user`);
    const blocks = blocksOf(message, `${path}.content`, index === messages.length - 1 && role === 'assistant');
    pending = checkTurn(blocks, path, role, pending, rules);
  }
  insist(
    pending.length === 0,
    `messages.${messages.length - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${pending.join(', ')}.`,
  );
  checkLast(messages as Json[], rules);
}

function blocksOf(message: Json, path: string, mayBeEmpty: boolean): Json[] {
  const { content } = message;
  if (typeof content === 'string') {
    insist(
      content !== '' || mayBeEmpty,
      `${path.replace('.content', '')}: all messages must have non-empty content except for the optional final assistant message`,
    );
    return content === '' ? [] : [{ type: 'text', text: content }];
  }
  return listOf(content, path).map((block, at) => anyObject(block, `${path}.${at}`));
}

/** Checks a turn. Returns the tool calls that must be answered in the next message. */
function checkTurn(blocks: readonly Json[], path: string, role: string, pending: readonly string[], rules: ConversationRules): string[] {
  const results = blocks.filter(({ type }) => type === 'tool_result').map((block) => textOf(block['tool_use_id'], `${path}.tool_use_id`));
  const missing = pending.filter((id) => !results.includes(id));
  insist(
    missing.length === 0,
    `${path}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
  insist(
    results.every((id) => pending.includes(id)),
    `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${results.join(', ')}.`,
  );
  insist(
    new Set(results).size === results.length,
    `${path}: each tool_use must have a single result. Found multiple \`tool_result\` blocks.`,
  );
  insist(
    blocks.slice(0, results.length).every(({ type }) => type === 'tool_result'),
    `${path}: tool_result blocks must come first`,
  );
  const ids = blocks.flatMap((block, at) => checkBlock(block, `${path}.content.${at}`, role, rules));
  insist(new Set(ids).size === ids.length, `${path}: \`tool_use\` ids must be unique`);
  return ids;
}

function checkLast(messages: readonly Json[], { refusesPrefill = false, thinks }: ConversationRules): void {
  const last = messages.at(-1)!;
  if (last['role'] === 'assistant') {
    insist(
      !refusesPrefill && !thinks,
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
    const block = Array.isArray(last['content']) ? (last['content'] as Json[]).at(-1) : { type: 'text', text: last['content'] };
    insist(
      block?.['type'] !== 'text' || !/\s$/.test(String(block['text'])),
      'messages: final assistant content cannot end with trailing whitespace',
    );
  }
  if (!thinks || !Array.isArray(last['content']) || !(last['content'] as Json[]).some(({ type }) => type === 'tool_result')) return;
  // A turn with tool calls must include the reasoning that led to them.
  const at = messages.findLastIndex(({ role }) => role === 'assistant');
  const first = (messages[at]!['content'] as Json[])[0]!['type'];
  const message = `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${String(first)}\`. When \`thinking\` is enabled, a final \`assistant\` message must start with a thinking block.`;
  insist(first === 'thinking' || first === 'redacted_thinking', message);
}

/** Checks a block. Returns the ids of tool calls that must be answered next. */
function checkBlock(block: Json, path: string, role: string, rules: ConversationRules): string[] {
  const type = textOf(block['type'], `${path}.type`);
  switch (type) {
    case 'text':
      checkText(block, path);
      insist(
        role !== 'user' || rules.version === '2023-06-01' || !Array.isArray(block['citations']) || block['citations'].length === 0,
        `${path}.citations: not permitted in user messages`,
      );
      return [];
    case 'image':
    case 'document':
    case 'search_result':
      insist(
        role === 'user' || (type === 'document' && role === 'assistant' && rules.version === '2023-06-01'),
        `${path}: \`${type}\` blocks are not permitted in ${role} messages`,
      );
      checkMedia(block, path);
      return [];
    case 'tool_result':
      insist(role === 'user', `${path}: \`tool_result\` blocks can only be in \`user\` messages`);
      objectOf(block, path, ['type', 'tool_use_id'], ['content', 'is_error', 'cache_control', 'toolset_name']);
      checkResult(block['content'], `${path}.content`);
      return [];
    default:
      insist(role === 'assistant', `${path}: \`${type}\` blocks can only be in \`assistant\` messages`);
      return checkAssistantBlock(block, type, path);
  }
}

function checkAssistantBlock(block: Json, type: string, path: string): string[] {
  switch (type) {
    case 'tool_use':
    case 'server_tool_use': {
      objectOf(block, path, ['type', 'id', 'name', 'input'], ['cache_control', 'caller', 'toolset_name']);
      anyObject(block['input'], `${path}.${type}.input`);
      insist(textOf(block['name'], `${path}.name`).length <= 200, `${path}.${type}.name: String should have at most 200 characters`);
      const id = textOf(block['id'], `${path}.id`);
      insist(/^[a-zA-Z0-9_-]+$/.test(id), `${path}.${type}.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
      return type === 'tool_use' ? [id] : [];
    }
    case 'thinking': {
      const thinking = objectOf(block, path, ['type', 'thinking', 'signature']);
      textOf(thinking['thinking'], `${path}.thinking`);
      insist(textOf(thinking['signature'], `${path}.signature`) !== '', `${path}: Invalid \`signature\` in \`thinking\` block`);
      return [];
    }
    case 'redacted_thinking':
      insist(
        textOf(objectOf(block, path, ['type', 'data'])['data'], `${path}.data`) !== '',
        `${path}: Invalid \`data\` in \`redacted_thinking\` block`,
      );
      return [];
    default:
      if (
        /^(web_search|web_fetch|code_execution|bash_code_execution|text_editor_code_execution|tool_search)_tool_result$|^container_upload$/.test(
          type,
        )
      )
        return [];
      throw new Refused(`${path}: Input tag '${type}' found using 'type' does not match any of the expected tags`);
  }
}

function checkResult(content: unknown, path: string): void {
  if (content === undefined || typeof content === 'string') return;
  insist(Array.isArray(content), `${path}: Input should be a valid list`);
  for (const [index, value] of (content as unknown[]).entries()) {
    const at = `${path}.${index}`;
    const type = wordOf(anyObject(value, at)['type'], `${at}.type`, ['text', 'image', 'document', 'search_result', 'tool_reference']);
    if (type === 'text') checkText(value, at);
    else if (type !== 'tool_reference') checkMedia(value as Json, at);
  }
}

function checkMedia(block: Json, path: string): void {
  if (block['type'] === 'search_result') {
    objectOf(block, path, ['type', 'source', 'title', 'content'], ['citations', 'cache_control']);
    for (const [index, text] of listOf(block['content'], `${path}.content`).entries()) checkText(text, `${path}.content.${index}`);
    return;
  }
  const isImage = block['type'] === 'image';
  objectOf(
    block,
    path,
    ['type', 'source'],
    isImage ? ['cache_control', 'transformations'] : ['cache_control', 'title', 'context', 'citations'],
  );
  const at = `${path}.${String(block['type'])}.source`;
  const source = anyObject(block['source'], at);
  switch (wordOf(source['type'], `${at}.type`, isImage ? ['base64', 'url', 'file'] : ['base64', 'url', 'file', 'text', 'content'])) {
    case 'base64':
      objectOf(source, `${at}.base64`, ['type', 'media_type', 'data']);
      wordOf(
        source['media_type'],
        `${at}.base64.media_type`,
        isImage ? ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] : ['application/pdf'],
      );
      base64Of(source['data'], `${at}.base64.data`);
      return;
    case 'url':
      insist(
        /^https:\/\/./.test(textOf(objectOf(source, `${at}.url`, ['type', 'url'])['url'], `${at}.url`)),
        `${at}.url: Only HTTPS URLs are supported.`,
      );
      return;
    case 'text':
      wordOf(objectOf(source, `${at}.text`, ['type', 'media_type', 'data'])['media_type'], `${at}.text.media_type`, ['text/plain']);
      insist(textOf(source['data'], `${at}.text.data`) !== '', `${at}.text.data: must be non-empty`);
  }
}

/** Checks a text block of a message or of the system prompt. */
export function checkText(value: unknown, path: string): void {
  const block = objectOf(value, path, ['type', 'text'], ['cache_control', 'citations']);
  wordOf(block['type'], `${path}.type`, ['text']);
  const text = textOf(block['text'], `${path}.text`);
  insist(text !== '', `${path.replace(/\.content\.\d+$/, '')}: text content blocks must be non-empty`);
  insist(text.trim() !== '', `${path.replace(/\.content\.\d+$/, '')}: text content blocks must contain non-whitespace text`);
}
