// Converts the instructions and messages of a prompt to the messages of a chat-completions request. Pure.
import { type Message, type Part, type Prompt, Role, type ToolResultPart } from '#proto/inference/v1/inference.js';
import { callArgumentsJson } from '../requests/custom-tools.js';
import { reminder } from '../requests/reminder.js';
import type { JsonObject } from '../answers/stream-decoder.js';
import { contentOf, contentParts, documentText, marked, textContent, type Translation } from './content.js';
import { takesExtensions } from './flavour.js';
import { toServerToolId, toUpstreamToolName } from './tools/tool-names.js';

// One client begins its instructions with a bookkeeping line for its vendor that differs in every call and would defeat every prompt cache.
const bookkeeping = 'x-anthropic-billing-header:';

/** Returns all messages, in order. Raises unsupported_field for a document that is only a url. */
export function conversation(prompt: Prompt, translation: Translation): JsonObject[] {
  const messages = systemMessages(prompt, translation);
  // The messages between two turns of the assistant.
  let between: Between = newBetween();
  for (const [index, message] of prompt.messages.entries()) {
    const field = `messages[${index}]`;
    if (message.role === Role.ROLE_ASSISTANT) {
      // One by one: there may be more than fit on the stack as arguments of one call.
      for (const each of inOrder(between, translation)) messages.push(each);
      messages.push(assistantMessage(message, field, translation));
      between = newBetween();
    } else if (message.role === Role.ROLE_SYSTEM) addInstruction(between, contentParts(message.parts, field, translation), translation);
    else addUser(between, message, field, translation);
  }
  return [...messages, ...inOrder(between, translation)];
}

/** Holds what comes between two assistant turns. Tool results come first, each as its own message, because nothing may separate them from their calls. */
interface Between {
  readonly results: JsonObject[];
  readonly inputs: InputMessage[];
}

interface InputMessage {
  readonly role: 'user' | 'system';
  readonly parts: JsonObject[];
  /** Whether it is an instruction in the form of user text. */
  isReminder: boolean;
}

function newBetween(): Between {
  return { results: [], inputs: [] };
}

function inOrder({ results, inputs }: Between, translation: Translation): JsonObject[] {
  return [...results, ...inputs.map(({ role, parts }) => ({ role, content: contentOf(parts, translation) }))];
}

/**
 * Adds an instruction. The templates of many models fail unless their only instructions are the first message (Qwen: "System message must be at the
 * beginning"), so for servers other than OpenAI's it becomes user text.
 */
function addInstruction({ inputs }: Between, parts: JsonObject[], { isOpenAi }: Translation): void {
  if (isOpenAi) inputs.push({ role: 'system', parts, isReminder: false });
  else
    addUserText(
      inputs,
      parts.map((part) => ({ ...part, text: reminder(String(part['text'])) })),
      true,
    );
}

/** Adds user text. A reminder shares a message with what is next to it, because some templates reject two in a row. */
function addUserText(inputs: InputMessage[], parts: JsonObject[], isReminder: boolean): void {
  const last = inputs.at(-1);
  if (last === undefined || !(isReminder || last.isReminder)) return void inputs.push({ role: 'user', parts, isReminder });
  for (const part of parts) last.parts.push(part);
  last.isReminder &&= isReminder;
}

/** Returns the instructions before the conversation, without a client's bookkeeping. */
export function instructionParts({ system, systemCacheTtls }: Prompt, translation: Translation): JsonObject[] {
  return system.flatMap((text, position) =>
    text === '' || (position === 0 && text.startsWith(bookkeeping))
      ? []
      : [marked(textContent(text), systemCacheTtls[position], translation)],
  );
}

function systemMessages(prompt: Prompt, translation: Translation): JsonObject[] {
  const parts = instructionParts(prompt, translation);
  // A single message, because the templates of many models do not support a second one.
  return parts.length === 0 ? [] : [{ role: 'system', content: contentOf(parts, translation) }];
}

function addUser({ results, inputs }: Between, message: Message, field: string, translation: Translation): void {
  const shown: JsonObject[] = [];
  for (const { part, cacheTtl } of message.parts) {
    if (part?.$case !== 'toolResult') continue;
    const { text, attached } = toolResult(part.value, field, translation);
    const content = contentOf([marked(textContent(text), cacheTtl, translation)], translation);
    results.push({ role: 'tool', tool_call_id: toServerToolId(part.value.toolCallId, translation), content });
    for (const each of attached) shown.push(each);
  }
  const content = [...shown, ...contentParts(message.parts, field, translation)];
  if (content.length > 0 || !message.parts.some(({ part }) => part?.$case === 'toolResult')) addUserText(inputs, content, false);
}

/** Returns the text of a result, and the parts that a tool message cannot hold, which go into the user's next message. */
function toolResult(
  { toolCallId, text, isError, content }: ToolResultPart,
  field: string,
  translation: Translation,
): { text: string; attached: JsonObject[] } {
  const lines: string[] = text === '' ? [] : [text];
  const attached: JsonObject[] = [];
  for (const each of content) {
    const line =
      each.part?.$case === 'text' ? each.part.value.text : each.part?.$case === 'document' ? documentText(each.part.value) : undefined;
    if (line !== undefined) {
      lines.push(line);
      if (each.cacheTtl !== undefined) translation.dropped.add('cache_control');
      continue;
    }
    attached.push(...contentParts([each], field, translation));
    lines.push(`[${each.part?.$case === 'image' ? 'image' : 'document'}: see the next user message]`);
  }
  const joined = lines.join('\n');
  const named =
    attached.length === 0 ? [] : [textContent(`From the result of tool call ${toServerToolId(toolCallId, translation)}:`), ...attached];
  // The format has no flag for a failed tool.
  return { text: isError ? `Error: ${joined}` : joined, attached: named };
}

// Other formats have no field for Google's signature. Its documentation has this value for calls that come from elsewhere, on the first of a turn.
const unsigned = { extra_content: { google: { thought_signature: 'skip_thought_signature_validator' } } };

function assistantMessage(message: Message, field: string, translation: Translation): JsonObject {
  const toolCalls = message.parts.flatMap(({ part }) =>
    part?.$case === 'toolCall'
      ? [
          {
            id: toServerToolId(part.value.id, translation),
            type: 'function',
            function: { name: toUpstreamToolName(part.value.name), arguments: callArgumentsJson(part.value) || '{}' },
          },
        ]
      : [],
  );
  const reasoning = message.parts.map(({ part }) => (part?.$case === 'reasoning' ? part.value.text : '')).join('');
  const content = message.parts.map((part) => assistantText(part, field, translation)).join('');
  return {
    role: 'assistant',
    content: content === '' && toolCalls.length > 0 ? null : content,
    // DeepSeek-like servers require their reasoning back with tool results; strict ones do not know the field.
    reasoning_content: !takesExtensions(translation) ? undefined : reasoning || (translation.needsReasoning === true ? ' ' : undefined),
    tool_calls:
      toolCalls.length > 0
        ? toolCalls.map((each, index) => (translation.isGoogle === true && index === 0 ? { ...each, ...unsigned } : each))
        : undefined,
  };
}

function assistantText(part: Part, field: string, translation: Translation): string {
  // A mark cannot be expressed here: the text of an answer is not a list of parts.
  if (part.cacheTtl !== undefined) translation.dropped.add('cache_control');
  if (part.part?.$case === 'text') return part.part.value.text;
  if (part.part?.$case !== 'document') return '';
  const text = documentText(part.part.value);
  if (text === undefined) translation.dropped.add(`${field}.content (document)`);
  return text ?? '';
}
