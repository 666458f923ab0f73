// Converts the common prompt to the turns that the format requires: the user begins, and tool results come first in a turn. Pure.
import { AppError } from '#client/errors/app-error.js';
import { type Message, type Prompt, Role } from '#proto/inference/v1/inference.js';
import { reminder } from '../requests/reminder.js';
import { type Block, cacheControl, textBlock, toBlocks } from './content.js';
import type { ModelTraits } from './model-traits.js';

/** One turn. */
interface Turn {
  readonly role: string;
  content: Block[];
}

/** Instructions and turns of a request. */
export interface Conversation {
  readonly system: Block[];
  readonly turns: Turn[];
}

// The format rejects a conversation that the assistant begins; in other formats that happens when an application greets its user.
const opening = { type: 'text', text: '(The conversation begins.)' };

/**
 * Converts a prompt. A later instruction becomes its own turn if the model accepts such turns, otherwise user text. Raises invalid_request if
 * there is nothing left to answer.
 */
export function toConversation(prompt: Prompt, { takesSystemTurns }: Pick<ModelTraits, 'takesSystemTurns'>): Conversation {
  const system = prompt.system.flatMap((text, index) => marked(textBlock(text), prompt.systemCacheTtls[index]));
  const turns = toTurns(prompt.messages, system, takesSystemTurns);
  trimPrefill(turns);
  if (turns.length === 0) throw new AppError('invalid_request', 'The conversation is empty.', { details: { field: 'messages' } });
  if (turns[0]!.role === 'assistant') turns.unshift({ role: 'user', content: [opening] });
  return { system, turns };
}

/** Reports whether the last turn is the assistant's, so that the answer continues from there. */
export function endsWithAssistant({ turns }: Conversation): boolean {
  return turns.at(-1)?.role === 'assistant';
}

/** Reports whether results answer a tool turn without thoughts: such a turn cannot continue with thinking. */
export function isTurnWithoutThoughts({ turns }: Conversation): boolean {
  const hasResult = turns.findLast(({ role }) => role !== 'system')?.content.some(isResult) === true;
  const first = turns.findLast(({ role }) => role === 'assistant')?.content[0]?.['type'];
  return hasResult && first !== 'thinking' && first !== 'redacted_thinking';
}

/**
 * Joins everything between two answers into one user turn, since all results of parallel tool calls belong in one message, before
 * its text. An instruction may come only after that (the vendor: it "must precede an 'assistant' message or end the array", and user,
 * system, user is rejected), and before it only at the top, in `system`.
 */
function toTurns(messages: readonly Message[], system: Block[], takesSystemTurns: boolean): Turn[] {
  const turns: Turn[] = [];
  let userBlocks: Block[] = [];
  let instructions: Block[] = [];
  const endRun = (): void => {
    // An instruction without user text before it cannot be its own turn.
    const content = userBlocks.length > 0 ? inOrder(userBlocks, isResult) : instructions.map(asReminder);
    if (content.length > 0) turns.push({ role: 'user', content });
    if (userBlocks.length > 0 && instructions.length > 0) turns.push({ role: 'system', content: instructions });
    [userBlocks, instructions] = [[], []];
  };
  for (const { role, parts } of messages) {
    const blocks = inOrder(parts.flatMap(toBlocks), isThought);
    if (blocks.length === 0) continue;
    if (role === Role.ROLE_ASSISTANT) {
      endRun();
      const last = turns.at(-1);
      if (last?.role === 'assistant') append(last.content, blocks);
      else turns.push({ role: 'assistant', content: blocks });
    } else if (role !== Role.ROLE_SYSTEM) append(userBlocks, blocks);
    else if (turns.length === 0 && userBlocks.length === 0) append(system, blocks);
    else if (takesSystemTurns) append(instructions, blocks);
    else append(userBlocks, blocks.map(asReminder));
  }
  endRun();
  return turns;
}

/** Adds blocks one by one: a message may have more than fit on the stack as arguments of one call. */
function append(list: Block[], blocks: readonly Block[]): void {
  for (const block of blocks) list.push(block);
}

function asReminder(block: Block): Block {
  return { ...block, text: reminder(String(block['text'])) };
}

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

/** Trims the prefilled beginning of an answer, which must not end in white space. */
function trimPrefill(turns: Turn[]): void {
  const block = turns.at(-1)?.role === 'assistant' ? turns.at(-1)!.content.at(-1) : undefined;
  if (typeof block?.['text'] === 'string') block['text'] = block['text'].trimEnd();
}
