// What has to be mended in a conversation that goes to an upstream as the caller wrote it, because vendors refuse it: thinking that
// another vendor did not sign, and results of tools that do not stand together right behind their calls. Clients that have talked
// to models of other vendors, or that answer each call in a message of its own, send such.
import type { BlockParam, MessageParam } from './block-schema.js';
import { messagesToolId } from './tool-id.js';

type Message = Omit<MessageParam, 'content'> & { content: string | readonly BlockParam[] };

/** The messages as vendors take them; the very same ones where nothing is amiss. Tool calls and results must pair up. */
export function mendHistory(messages: readonly MessageParam[]): readonly unknown[] {
  const mended = (messages as readonly Message[]).some(isToBeMended) ? (messages as readonly Message[]).flatMap(mendBlocks) : messages;
  return mended.every((message, index) => isAnsweredAtOnce(message, mended[index + 1])) ? mended : joinTurns(mended);
}

function isToBeMended({ content }: Message): boolean {
  return typeof content !== 'string' && content.some((block) => isUnsigned(block) || foreignIdField(block) !== undefined);
}

/** A message that was nothing but unsigned thinking goes with it. */
function mendBlocks(message: Message): Message[] {
  if (!isToBeMended(message)) return [message];
  const content = (message.content as readonly BlockParam[]).filter((block) => !isUnsigned(block)).map(withOwnId);
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isUnsigned(block: BlockParam): boolean {
  return block.type === 'thinking' && !block.signature;
}

/** The field of a block that holds an id of a call in characters which this format has not. */
function foreignIdField(block: BlockParam): 'id' | 'tool_use_id' | undefined {
  if (block.type === 'tool_use') return messagesToolId(block.id) === block.id ? undefined : 'id';
  if (block.type === 'tool_result') return messagesToolId(block.tool_use_id) === block.tool_use_id ? undefined : 'tool_use_id';
  return undefined;
}

function withOwnId(block: BlockParam): BlockParam {
  const field = foreignIdField(block);
  return field === undefined ? block : { ...block, [field]: messagesToolId((block as unknown as Record<string, string>)[field]!) };
}

function isAnsweredAtOnce(message: Message, next: Message | undefined): boolean {
  const calls = blocksOfType(message, 'tool_use');
  return calls === 0 || message.role !== 'assistant' || (next?.role === 'user' && blocksOfType(next, 'tool_result') === calls);
}

function blocksOfType({ content }: Message, type: string): number {
  if (typeof content === 'string') return 0;
  let count = 0;
  for (const block of content) if (block.type === type) count += 1;
  return count;
}

/** Joins messages of the same side where tools are called and answered; instructions that stand between follow. */
function joinTurns(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  let turn: Message | undefined;
  let isAnswer = false;
  let later: Message[] = [];
  for (const message of messages) {
    if (message.role === 'system') {
      later.push(message);
      continue;
    }
    if (turn?.role === message.role && (isAnswer || blocksOfType(turn, 'tool_use') > 0)) {
      turn = { ...turn, content: [...blocksOf(turn), ...blocksOf(message)] };
      continue;
    }
    if (turn !== undefined) joined.push(turn);
    isAnswer = turn !== undefined && message.role === 'user' && blocksOfType(turn, 'tool_use') > 0;
    if (!isAnswer) joined.push(...later.splice(0));
    turn = message;
  }
  return turn === undefined ? [...joined, ...later] : [...joined, turn, ...later];
}

function blocksOf({ content }: Message): readonly BlockParam[] {
  if (typeof content !== 'string') return content;
  return content === '' ? [] : [{ type: 'text', text: content }];
}
