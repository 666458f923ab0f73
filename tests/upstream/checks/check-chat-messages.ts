// The rules for the messages of a chat-completions request: roles, content parts, and answers to tool calls.
import { anyObject, base64Of, insist, type Json, listOf, nameOf, objectOf, Refused, textOf, wordOf } from './check.js';
import type { VendorRules } from './rules.js';

const roles = ['developer', 'system', 'user', 'assistant', 'tool', 'function'];

/** Raises Refused if the vendor would respond with a 400. */
export function checkChatMessages(messages: unknown[], rules: VendorRules): void {
  let pending: string[] = [];
  for (const [index, value] of messages.entries()) {
    const path = `messages.${index}`;
    const role = anyObject(value, path)['role'];
    if (role === 'tool') {
      const message = objectOf(value, path, ['role', 'content', 'tool_call_id'], ['name']);
      const id = textOf(message['tool_call_id'], `${path}.tool_call_id`);
      insist(
        pending.includes(id),
        `${path}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'.`,
        'messages',
      );
      pending = pending.filter((other) => other !== id);
      checkContent(message['content'], path, ['text']);
      continue;
    }
    insist(
      pending.length === 0,
      `An assistant message with 'tool_calls' must be followed by tool messages. ${path}: no response messages for: ${pending.join(', ')}`,
      'messages',
    );
    pending = checkMessage(value, path, role, rules);
  }
  insist(
    pending.length === 0,
    `An assistant message with 'tool_calls' must be followed by tool messages. No response messages for: ${pending.join(', ')}`,
    'messages',
  );
}

/** Checks a message. Returns the ids of tool calls that must be answered next. */
function checkMessage(value: unknown, path: string, role: unknown, { isOpenAi = false }: VendorRules): string[] {
  if (typeof role !== 'string' || !roles.includes(role))
    throw new Refused(`Invalid value: '${String(role)}'. Supported values are: ${roles.join(', ')}.`, `${path}.role`);
  insist(isOpenAi || role !== 'developer', `${path}.role: Unexpected role developer`, 'messages');
  if (role === 'function') {
    objectOf(value, path, ['role', 'content', 'name']);
    return [];
  }
  if (role !== 'assistant') {
    const kinds = role === 'user' ? ['text', 'image_url', 'input_audio', 'file'] : ['text'];
    checkContent(objectOf(value, path, ['role', 'content'], ['name'])['content'], path, kinds);
    return [];
  }
  const message = objectOf(
    value,
    path,
    ['role'],
    ['content', 'refusal', 'name', 'audio', 'tool_calls', 'function_call', ...(isOpenAi ? [] : ['reasoning_content'])],
  );
  const hasContent = message['content'] !== undefined && message['content'] !== null;
  if (hasContent) checkContent(message['content'], path, ['text', 'refusal']);
  if (message['tool_calls'] === undefined) {
    const says =
      hasContent || message['function_call'] !== undefined || typeof message['refusal'] === 'string' || message['audio'] !== undefined;
    insist(says, `Invalid value for 'content': expected a string, got null.`, `${path}.content`);
    return [];
  }
  const ids = listOf(message['tool_calls'], `${path}.tool_calls`).map((entry, index) =>
    checkCall(entry, `${path}.tool_calls.${index}`, isOpenAi),
  );
  insist(new Set(ids).size === ids.length, `${path}.tool_calls: duplicate ids`, 'messages');
  return ids;
}

function checkCall(value: unknown, path: string, isOpenAi: boolean): string {
  const call = objectOf(value, path, ['id', 'type'], ['function', 'custom']);
  const kind = wordOf(call['type'], `${path}.type`, ['function', 'custom']);
  const said = kind === 'custom' ? 'input' : 'arguments';
  const named = objectOf(call[kind], `${path}.${kind}`, ['name', said]);
  nameOf(named['name'], `${path}.${kind}.name`, 64);
  textOf(named[said], `${path}.${kind}.${said}`);
  const id = textOf(call['id'], `${path}.id`);
  insist(id !== '', `Invalid '${path}.id': empty string.`, 'messages');
  insist(
    !isOpenAi || id.length <= 40,
    `Invalid '${path}.id': string too long. Expected a string with maximum length 40, but got ${id.length}.`,
    'messages',
  );
  return id;
}

function checkContent(content: unknown, path: string, kinds: readonly string[]): void {
  if (typeof content === 'string') return;
  for (const [index, entry] of listOf(content, `${path}.content`).entries()) {
    const at = `${path}.content.${index}`;
    const kind = wordOf(anyObject(entry, at)['type'], `${at}.type`, kinds);
    const part = objectOf(entry, at, ['type', kind], ['prompt_cache_breakpoint']);
    if (kind === 'text' || kind === 'refusal') textOf(part[kind], `${at}.${kind}`);
    else if (kind === 'image_url') checkImage(part['image_url'], `${at}.image_url`);
    else if (kind === 'file') checkFile(part['file'], `${at}.file`);
    else
      wordOf(objectOf(part['input_audio'], `${at}.input_audio`, ['data', 'format'])['format'], `${at}.input_audio.format`, ['wav', 'mp3']);
  }
}

function checkImage(value: unknown, path: string): void {
  const image: Json = objectOf(value, path, ['url'], ['detail']);
  if (image['detail'] !== undefined) wordOf(image['detail'], `${path}.detail`, ['auto', 'low', 'high', 'original']);
  const url = textOf(image['url'], `${path}.url`);
  const data = /^data:(image\/(?:png|jpeg|gif|webp));base64,(.*)$/s.exec(url);
  if (data !== null) base64Of(data[2], `${path}.url`);
  else
    insist(
      /^https?:\/\/./.test(url),
      `Invalid image URL: '${url.slice(0, 40)}'. Expected a valid URL or a data URL of a png, jpeg, gif or webp.`,
      path,
    );
}

function checkFile(value: unknown, path: string): void {
  const file: Json = objectOf(value, path, [], ['file_data', 'file_id', 'filename']);
  if (file['file_id'] !== undefined) return;
  const data = /^data:application\/pdf;base64,(.*)$/s.exec(textOf(file['file_data'], `${path}.file_data`));
  insist(
    data !== null,
    `Invalid file data: '${path}.file_data'. Expected a base64-encoded data URL with an application/pdf MIME type.`,
    path,
  );
  base64Of(data?.[1], `${path}.file_data`);
  insist(typeof file['filename'] === 'string', `Missing required parameter: '${path}.filename'.`, path);
}
