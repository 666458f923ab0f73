// For any conversation: nothing that the caller says is lost or moved, neither in the meaning nor in the caller's own fields.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Part } from '#proto/inference/v1/inference.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';
import { oursToSay } from './native.js';
import { parseCountTokens, parseMessages } from './request.js';

const words = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme' });
const name = fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/);
const json = fc.jsonValue({ maxDepth: 2 });
const text = words.map((value) => ({ type: 'text' as const, text: value }));
const image = fc
  .base64String({ minLength: 4 })
  .map((data) => ({ type: 'image' as const, source: { type: 'base64', media_type: 'image/png', data } }));
const thinking = fc.record({ type: fc.constant('thinking' as const), thinking: fc.string(), signature: fc.string({ minLength: 1 }) });
const input = fc.dictionary(name, json, { maxKeys: 3 });

/** Calls with ids of any characters, each answered by text or by blocks; instructions may follow. */
const exchange = fc
  .record({
    before: fc.array(fc.oneof(text, thinking), { maxLength: 3 }),
    calls: fc.uniqueArray(
      fc.record({
        id: words,
        name,
        input,
        answer: fc.oneof(fc.string(), fc.array(fc.oneof(text, image), { maxLength: 3 })),
        isError: fc.boolean(),
      }),
      { maxLength: 3, selector: ({ id }) => id },
    ),
    after: fc.array(fc.oneof(text, image), { minLength: 1, maxLength: 3 }),
    instruction: fc.option(words),
    isSplit: fc.boolean(),
  })
  .map(({ before, calls, after, instruction, isSplit }) => {
    const assistant = [
      ...before,
      ...calls.map(({ id, name: called, input: args }) => ({ type: 'tool_use' as const, id, name: called, input: args })),
    ];
    const results = calls.map(({ id, answer, isError }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: answer,
      is_error: isError,
    }));
    const answers = isSplit ? [...results.map((result) => [result]), after] : [[...results, ...after]];
    return [
      ...(assistant.length > 0 ? [{ role: 'assistant', content: assistant as object[] }] : []),
      ...answers.map((content) => ({ role: 'user', content: content as object[] })),
      ...(instruction === null ? [] : [{ role: 'system', content: [{ type: 'text', text: instruction }] }]),
    ];
  });

const conversation = fc
  .array(exchange, { maxLength: 4 })
  .map((exchanges) => [{ role: 'user', content: [{ type: 'text', text: 'hi' }] as object[] }, ...exchanges.flat()]);
const unknownFields = fc.dictionary(fc.stringMatching(/^x_[a-z]{1,8}$/), json, { maxKeys: 3 });
const body = fc.record({
  messages: conversation,
  system: fc.array(text, { maxLength: 2 }),
  unknown: unknownFields,
  tools: fc.uniqueArray(name, { maxLength: 3 }),
});

/** What a block says, as text. */
function saidBy(block: Record<string, unknown>): string[] {
  switch (block['type']) {
    case 'text':
      return [`text ${String(block['text'])}`];
    case 'image':
      return [`image ${String((block['source'] as { data: string }).data)}`];
    case 'thinking':
      return [`thinking ${String(block['thinking'])} ${String(block['signature'])}`];
    case 'tool_use':
      return [`call ${String(block['id'])} ${String(block['name'])} ${JSON.stringify(block['input'])}`];
    default: {
      const {
        tool_use_id: id,
        content,
        is_error: isError,
      } = block as { tool_use_id: string; content: string | Record<string, unknown>[]; is_error: boolean };
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
      const isText = blocks.every(({ type }) => type === 'text');
      const inside = isText ? [`text ${blocks.map((each) => (each as { text: string }).text).join('\n')}`] : blocks.flatMap(saidBy);
      return [`result ${id} ${isError} ${inside.join(' ')}`];
    }
  }
}

/** What a part of the common prompt says, in the same words. */
function meant({ part }: Part): string {
  switch (part!.$case) {
    case 'text':
      return `text ${part!.value.text}`;
    case 'image':
      return `image ${part!.value.source?.$case === 'data' ? part!.value.source.value.base64 : ''}`;
    case 'reasoning':
      return `thinking ${part!.value.text} ${part!.value.signature}`;
    case 'toolCall':
      return `call ${part!.value.id} ${part!.value.name} ${part!.value.argumentsJson}`;
    case 'toolResult': {
      const { toolCallId, text: words, isError, content } = part!.value;
      return `result ${toolCallId} ${isError} ${content.length > 0 ? content.map(meant).join(' ') : `text ${words}`}`;
    }
    default:
      throw new Error('not generated');
  }
}

type Generated = typeof body extends fc.Arbitrary<infer T> ? T : never;

function written({ messages, system, unknown, tools }: Generated) {
  return {
    model: 'm',
    max_tokens: 10,
    stream: true,
    metadata: { user_id: 'u' },
    messages,
    system,
    ...unknown,
    tools: tools.map((each) => ({ name: each, input_schema: { type: 'object' } })),
  };
}

const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

describe('any messages body', () => {
  it('is translated completely: text, images, thinking, calls, arguments and results, in order', () => {
    fc.assert(
      fc.property(body, (generated) => {
        const { prompt } = parseMessages(written(generated), {}).request;
        expect(prompt!.messages.map(({ parts }) => parts.map(meant))).toEqual(
          generated.messages.map(({ content }) => content.flatMap((block) => saidBy(block as Record<string, unknown>))),
        );
        expect(prompt!.system).toEqual(generated.system.map((block) => block.text));
        expect(prompt!.tools.map((tool) => tool.name)).toEqual(generated.tools);
      }),
    );
  });

  it('reaches upstreams of its format unchanged, except for our fields, the ids of calls and the position of their results', () => {
    fc.assert(
      fc.property(body, (generated) => {
        const whole = written(generated);
        const { messages, ...fields } = JSON.parse(parseMessages(whole, {}).request.native!.fieldsJson) as {
          messages: { role: string; content: Record<string, unknown>[] }[];
        };
        const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
        const rest = Object.entries(whole).filter(
          ([field, value]) =>
            !oursToSay.includes(field) &&
            field !== 'messages' &&
            !(field in generated.unknown) &&
            !(['system', 'tools'].includes(field) && isEmpty(value)),
        );
        expect(fields).toEqual(JSON.parse(JSON.stringify(Object.fromEntries(rest))));

        // Joining turns moves instructions behind answers; all else keeps its order.
        const side = (role: string, sent: { role: string; content: object[] }[]): string[] =>
          sent
            .filter((message) => message.role === role)
            .flatMap(({ content }) => content.flatMap((block) => saidBy(block as Record<string, unknown>)));
        const withOwnIds = generated.messages.map((message) => ({
          ...message,
          content: message.content.map((block) => {
            const { id, tool_use_id: answered } = block as { id?: string; tool_use_id?: string };
            return {
              ...block,
              ...(id === undefined ? {} : { id: messagesToolId(id) }),
              ...(answered === undefined ? {} : { tool_use_id: messagesToolId(answered) }),
            };
          }),
        }));
        for (const role of ['user', 'assistant', 'system']) expect(side(role, messages)).toEqual(side(role, withOwnIds));
        for (const [index, { content }] of messages.entries()) {
          const calls = content.filter(({ type }) => type === 'tool_use').map(({ id }) => id);
          const answers = (messages[index + 1]?.content ?? []).slice(0, calls.length).map(({ tool_use_id: id }) => id);
          if (calls.length > 0) expect(answers.toSorted()).toEqual(calls.toSorted());
        }
      }),
    );
  });

  it('has no more text tokens than its bound, and has the same bound for counting and for generating', () => {
    fc.assert(
      fc.property(body, (generated) => {
        const whole = written(generated);
        const parsed = parseMessages(whole, {});
        const said = generated.messages.flatMap(({ content }) => content.flatMap((block) => ('text' in block ? [block.text] : [])));
        expect(parsed.inputTokensMax).toBeGreaterThanOrEqual(
          said.join('').length +
            Object.values(generated.unknown).reduce<number>((sum, value) => sum + (value === null ? 0 : bytes(value)), 0),
        );
        const { prompt, native } = parseCountTokens(whole, {}).request;
        expect(prompt).toEqual(parsed.request.prompt);
        expect(native!.fieldsJson).toBe(parsed.request.native!.fieldsJson);
      }),
    );
  });
});
