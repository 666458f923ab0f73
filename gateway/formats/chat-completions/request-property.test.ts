// Generated conversations: a body loses nothing when it is translated into the meaning and the caller's own fields.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Part } from '#proto/inference/v1/inference.js';
import { parseChatCompletions } from './request.js';

const text = fc.string({ minLength: 1, unit: 'grapheme' });
const toolName = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const argumentsJson = fc.oneof(fc.json(), fc.constantFrom('', '{"unfinished":'));

/** Content as a string or as parts, with its `texts` in order. */
const content = fc.oneof(
  text.map((each) => ({ content: each as unknown, texts: [each] })),
  fc
    .array(text, { minLength: 1, maxLength: 3 })
    .map((texts) => ({ content: texts.map((each) => ({ type: 'text', text: each })) as unknown, texts })),
);

interface Turn {
  messages: object[];
  /** What the meaning must contain, in order. */
  said: string[];
}

const userTurn = content.map(({ content: said, texts }): Turn => ({
  messages: [{ role: 'user', content: said }],
  said: texts.map((each) => `text ${each}`),
}));
const assistantTurn = fc
  .record({ content, calls: fc.array(fc.record({ name: toolName, arguments: argumentsJson, result: content }), { maxLength: 3 }) })
  .map(({ content: { content: said, texts }, calls }): Turn => ({
    messages: [
      {
        role: 'assistant',
        content: said,
        ...(calls.length === 0
          ? {}
          : {
              tool_calls: calls.map(({ result: _result, ...call }, index) => ({ id: `call:${index}`, type: 'function', function: call })),
            }),
      },
      ...calls.map(({ result }, index) => ({ role: 'tool', tool_call_id: `call:${index}`, content: result.content })),
    ],
    said: [
      ...texts.map((each) => `text ${each}`),
      ...calls.map(({ name, arguments: args }, index) => `call call:${index} ${name} ${args}`),
      ...calls.map(({ result }, index) => `result call:${index} ${result.texts.join('\n')}`),
    ],
  }));

const systemTurn = content.map(({ content: said, texts }): Turn => ({
  messages: [{ role: 'developer', content: said }],
  said: texts.map((each) => `text ${each}`),
}));
const conversation = fc
  .tuple(fc.array(systemTurn, { maxLength: 2 }), userTurn, fc.array(fc.oneof(userTurn, assistantTurn, systemTurn), { maxLength: 6 }))
  .map(([system, first, rest]) => [...system, first, ...rest]);

/** Unknown fields with any value. */
const inventions = fc.dictionary(fc.stringMatching(/^vendor_[a-z0-9]{1,8}$/), fc.jsonValue(), { maxKeys: 4 });

function shortly({ part }: Part): string {
  if (part?.$case === 'text') return `text ${part.value.text}`;
  if (part?.$case === 'toolCall') return `call ${part.value.id} ${part.value.name} ${part.value.argumentsJson}`;
  return part?.$case === 'toolResult' ? `result ${part.value.toolCallId} ${part.value.text}` : 'something else';
}

describe('a generated conversation', () => {
  it('keeps every text, tool name, argument and its order in the meaning, and every field alongside ours for upstreams of the format', () => {
    fc.assert(
      fc.property(conversation, fc.uniqueArray(toolName, { maxLength: 3 }), inventions, (turns, names, invented) => {
        const tools = names.map((name) => ({ type: 'function', function: { name, ...invented }, ...invented }));
        const messages = turns.flatMap((turn) => turn.messages).map((message) => ({ ...message, ...invented }));
        const rest = { ...(tools.length > 0 ? { tools } : {}), messages };
        const parsed = parseChatCompletions({ model: 'm', stream: true, max_tokens: 5, ...rest, ...invented, user: 'alice' });
        const { prompt, native } = parsed.request;
        expect([...prompt!.system.map((each) => `text ${each}`), ...prompt!.messages.flatMap(({ parts }) => parts.map(shortly))]).toEqual(
          turns.flatMap(({ said }) => said),
        );
        expect(prompt!.tools.map(({ name }) => name)).toEqual(names);
        expect(native!.fieldsJson).toBe(JSON.stringify(rest));
        expect(native!.otherFieldsJson || '{}').toBe(JSON.stringify(invented));
        expect(native!.refusedElsewhere).toEqual([]);
        const texts = turns.flatMap(({ said }) =>
          said.filter((each) => each.startsWith('text ')).map((each) => each.slice('text '.length)),
        );
        expect(parsed.inputTokensMax).toBeGreaterThanOrEqual(Buffer.byteLength(texts.join('')));
      }),
    );
  });
});
