// Repairs what vendors reject in a conversation that goes to an upstream as the caller wrote it: thinking that
// another vendor left unsigned or encrypted, and tool results that are not together right after their calls. Clients that have talked
// to models of other vendors, or that answer each call in a separate message, send such conversations.
import { itemOfSignature } from '#rules/wire/reasoning-seals.js';
import type { BlockParam, MessageParam } from './block-schema.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';

type Message = Omit<MessageParam, 'content'> & { content: string | readonly BlockParam[] };

/** Returns the messages in the form that vendors accept; the same objects if nothing needs repair. Tool calls and results must pair up. */
export function mendHistory(messages: readonly MessageParam[]): readonly unknown[] {
  const mended = (messages as readonly Message[]).some(isToBeMended) ? (messages as readonly Message[]).flatMap(mendBlocks) : messages;
  return mended.every((message, index) => isAnsweredAtOnce(message, mended[index + 1])) ? mended : joinTurns(mended);
}

function isToBeMended({ content }: Message): boolean {
  return typeof content !== 'string' && content.some((block) => isUnsigned(block) || foreignIdField(block) !== undefined);
}

/** Repairs the blocks of a message. A message of only unsigned thinking is removed. */
function mendBlocks(message: Message): Message[] {
  if (!isToBeMended(message)) return [message];
  const content = (message.content as readonly BlockParam[]).filter((block) => !isUnsigned(block)).map(withOwnId);
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isUnsigned(block: BlockParam): boolean {
  return block.type === 'thinking' && (!block.signature || itemOfSignature(block.signature) !== undefined);
}

/** Returns the field of a block that holds a call id with characters that this format does not allow. */
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

/** Joins messages of the same role where tools are called and answered; instructions between them follow. */
function joinTurns(messages: readonly Message[]): Message[] {
  const joined: Message[] = [];
  let turn: Message | undefined;
  /** The blocks of a turn that was joined; further ones are added to it. */
  let blocks: BlockParam[] | undefined;
  let isCalling = false;
  let isAnswer = false;
  let later: Message[] = [];
  for (const message of messages) {
    if (message.role === 'system') {
      later.push(message);
      continue;
    }
    if (turn?.role === message.role && (isAnswer || isCalling)) {
      if (blocks === undefined) turn = { ...turn, content: (blocks = [...blocksOf(turn)]) };
      for (const block of blocksOf(message)) blocks.push(block);
      continue;
    }
    if (turn !== undefined) joined.push(turn);
    isAnswer = message.role === 'user' && isCalling;
    if (!isAnswer) joined.push(...later.splice(0));
    turn = message;
    blocks = undefined;
    isCalling = blocksOfType(message, 'tool_use') > 0;
  }
  return turn === undefined ? [...joined, ...later] : [...joined, turn, ...later];
}

function blocksOf({ content }: Message): readonly BlockParam[] {
  if (typeof content !== 'string') return content;
  return content === '' ? [] : [{ type: 'text', text: content }];
}
