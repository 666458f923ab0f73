// The common prompt's instructions and messages as the format wants them: in turns, results first, the user first. Pure.
import { AppError } from '#kit/errors/app-error.js';
import { type Message, type Prompt, Role } from '#proto/inference/v1/inference.js';
import { type Block, cacheControl, textBlock, toBlocks } from './content.js';

/** One turn. */
export interface Turn {
  readonly role: string;
  content: Block[];
}

/** Instructions and turns of a request. */
export interface Conversation {
  readonly system: Block[];
  readonly turns: Turn[];
}

// The format refuses a conversation that the assistant begins; other formats have it when an application greets its user.
const opening = { type: 'text', text: '(The conversation begins.)' };

/** Translates. Raises invalid_request when nothing is left to answer. */
export function toConversation(prompt: Prompt): Conversation {
  const system = prompt.system.flatMap((text, index) => marked(textBlock(text), prompt.systemCacheTtls[index]));
  const turns = mergeTurns(prompt.messages);
  // The format refuses a system entry in the first place.
  while (turns[0]?.role === 'system') system.push(...turns.shift()!.content);
  trimPrefill(turns);
  if (turns.length === 0) throw new AppError('invalid_request', 'The conversation is empty.', { details: { field: 'messages' } });
  if (turns[0]!.role === 'assistant') turns.unshift({ role: 'user', content: [opening] });
  return { system, turns };
}

/** Whether the last turn is the assistant's, so that the answer goes on from there. */
export function endsWithAssistant({ turns }: Conversation): boolean {
  return turns.at(-1)?.role === 'assistant';
}

/** Whether results come back to a turn of tools that holds no thoughts: such a turn cannot go on with thinking. */
export function isTurnWithoutThoughts({ turns }: Conversation): boolean {
  const hasResult = turns.findLast(({ role }) => role !== 'system')?.content.some(isResult) === true;
  const first = turns.findLast(({ role }) => role === 'assistant')?.content[0]?.['type'];
  return hasResult && first !== 'thinking' && first !== 'redacted_thinking';
}

/** Joins consecutive messages of one role, since all results of parallel tool calls belong into one user message, before its text. */
function mergeTurns(messages: readonly Message[]): Turn[] {
  const turns: Turn[] = [];
  for (const message of messages) {
    const role = roleNames[message.role] ?? 'user';
    const blocks = inOrder(message.parts.flatMap(toBlocks), isThought);
    if (blocks.length === 0) continue;
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...blocks);
    else turns.push({ role, content: blocks });
  }
  for (const turn of turns) turn.content = inOrder(turn.content, isResult);
  return turns;
}

const roleNames: Partial<Record<Role, string>> = {
  [Role.ROLE_USER]: 'user',
  [Role.ROLE_ASSISTANT]: 'assistant',
  [Role.ROLE_SYSTEM]: 'system',
};

function inOrder(blocks: Block[], comesFirst: (block: Block) => boolean): Block[] {
  return [...blocks.filter(comesFirst), ...blocks.filter((block) => !comesFirst(block))];
}

function isThought({ type }: Block): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

function isResult({ type }: Block): boolean {
  return type === 'tool_result';
}

function marked(block: Block | undefined, ttl: string | undefined): Block[] {
  if (block === undefined) return [];
  return [ttl === undefined ? block : { ...block, cache_control: cacheControl(ttl) }];
}

/** The beginning of an answer must not end in white space. */
function trimPrefill(turns: Turn[]): void {
  const block = turns.at(-1)?.role === 'assistant' ? turns.at(-1)!.content.at(-1) : undefined;
  if (typeof block?.['text'] === 'string') block['text'] = block['text'].trimEnd();
}
