// The messages format's rule on tool calls: every tool_use is answered by one tool_result in the user turn right after it, before
// anything else in that turn.
import { fieldError } from '../requests/body-reader.js';
import { type BlockParam, type MessageParam, rolesOf } from './block-schema.js';

/** Holds a turn: adjacent messages of one role. Instructions may be anywhere and belong to none. */
interface Turn {
  role: 'user' | 'assistant';
  blocks: { block: BlockParam; path: string }[];
}

/** Raises invalid_request that names the block that breaks the rule. */
export function assertToolPairing(messages: readonly MessageParam[]): void {
  /** The calls of the previous assistant turn, each with its path. */
  const calls = new Map<string, string>();
  for (const turn of turnsOf(messages)) {
    if (turn.role === 'assistant') noteCalls(turn, calls);
    else {
      takeResults(turn, calls);
      assertNone(calls);
    }
  }
  assertNone(calls);
}

function turnsOf(messages: readonly MessageParam[]): Turn[] {
  const turns: Turn[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    if (role === 'system') continue;
    let turn = turns.at(-1);
    if (turn?.role !== role) turns.push((turn = { role, blocks: [] }));
    const blocks: readonly BlockParam[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    for (const [at, block] of blocks.entries()) turn.blocks.push({ block, path: `messages.${index}.content.${at}` });
  }
  return turns;
}

function noteCalls(turn: Turn, calls: Map<string, string>): void {
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_use') continue;
    if (calls.has(block.id))
      throw fieldError('invalid_request', `${path}.id`, `"${block.id}" is the id of two tool_use blocks; ids must be unique`);
    calls.set(block.id, path);
  }
}

function takeResults(turn: Turn, calls: Map<string, string>): void {
  let hasOtherContent = false;
  for (const { block, path } of turn.blocks) {
    if (block.type !== 'tool_result') {
      // Blocks of unknown kinds are for their vendor to validate, including their position.
      hasOtherContent ||= rolesOf(block) !== undefined;
      continue;
    }
    if (!calls.delete(block.tool_use_id)) {
      throw fieldError(
        'invalid_request',
        `${path}.tool_use_id`,
        `"${block.tool_use_id}" has no unanswered tool_use block in the previous assistant turn`,
      );
    }
    if (hasOtherContent) throw fieldError('invalid_request', path, 'tool_result blocks must come first in their turn');
  }
}

function assertNone(calls: ReadonlyMap<string, string>): void {
  const [call] = calls;
  if (call === undefined) return;
  const [id, path] = call;
  throw fieldError('invalid_request', path, `the tool_use "${id}" has no tool_result; send one at the start of the next user message`);
}
