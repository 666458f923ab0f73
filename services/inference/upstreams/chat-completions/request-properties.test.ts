import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { GenerateRequest, type Message, Role } from '#proto/inference/v1/inference.js';
import { checkChatCompletions } from '../../../../tests/upstream/checks/check-chat-completions.js';
import { chatCompletionsBody } from './request.js';
import { callerToolNames } from './tools/tool-names.js';

type Part = Message['parts'][number];

const { ROLE_USER, ROLE_ASSISTANT, ROLE_SYSTEM } = Role;
// Words that can be found again, whatever is put around them, and that pass for base64.
const word = fc.uuid().map((id) => id.replaceAll('-', ''));
const mark = fc.option(fc.constantFrom('5m', '1h'), { nil: undefined });
const text: fc.Arbitrary<Part> = fc.record({
  part: word.map((value) => ({ $case: 'text' as const, value: { text: value } })),
  cacheTtl: mark,
});
const image: fc.Arbitrary<Part> = fc.record({
  part: word.map((base64) => ({
    $case: 'image' as const,
    value: { source: { $case: 'data' as const, value: { mediaType: 'image/png', base64 } }, detail: '' },
  })),
  cacheTtl: mark,
});
const documentText: fc.Arbitrary<Part> = word.map((value) => ({
  part: { $case: 'document', value: { source: { $case: 'text', value }, title: '', context: '', filename: '' } },
}));
const pdf: fc.Arbitrary<Part> = word.map((base64) => ({
  part: {
    $case: 'document',
    value: { source: { $case: 'data', value: { mediaType: 'application/pdf', base64 } }, title: 'A title', context: '', filename: '' },
  },
}));
const userPart = fc.oneof(text, image, documentText, pdf);
const toolName = fc.oneof(fc.constantFrom('f', 'get_weather'), fc.constant('n'.repeat(100)), fc.constant(`${'n'.repeat(100)}2`));

interface Turn {
  readonly calls: {
    readonly id: string;
    readonly name: string;
    readonly json: string;
    readonly results: readonly Part[];
    readonly plain: string;
    readonly isError: boolean;
  }[];
  readonly before: readonly Part[];
  readonly after: readonly Part[];
  readonly system: readonly Part[];
  readonly isSplit: boolean;
}

const turn: fc.Arbitrary<Turn> = fc.record({
  calls: fc.array(
    fc.record({
      id: fc.oneof(
        word,
        word.map((id) => `toolu_${id}${'x'.repeat(40)}`),
      ),
      name: toolName,
      json: word.map((value) => JSON.stringify({ value })),
      results: fc.array(userPart, { maxLength: 3 }),
      plain: fc.oneof(fc.constant(''), word),
      isError: fc.boolean(),
    }),
    { maxLength: 3 },
  ),
  before: fc.array(text, { minLength: 1, maxLength: 2 }),
  after: fc.array(userPart, { minLength: 1, maxLength: 4 }),
  system: fc.array(text, { maxLength: 1 }),
  isSplit: fc.boolean(),
});

/** Returns a turn: the assistant's text and calls, an instruction, the results in one message or in several, and what the user says. */
function messagesOf({ calls, before, after, system, isSplit }: Turn): Message[] {
  const callParts = calls.map(({ id, name, json }): Part => ({ part: { $case: 'toolCall', value: { id, name, argumentsJson: json } } }));
  const results = calls.map(({ id, results: content, plain, isError }): Part => ({
    part: { $case: 'toolResult', value: { toolCallId: id, text: content.length > 0 ? '' : plain, isError, content: [...content] } },
  }));
  const answers = isSplit ? results.map((result) => ({ role: ROLE_USER, parts: [result] })) : [{ role: ROLE_USER, parts: results }];
  return [
    { role: ROLE_ASSISTANT, parts: [...before, ...callParts] },
    ...system.map((part) => ({ role: ROLE_SYSTEM, parts: [part] })),
    ...answers.filter(({ parts }) => parts.length > 0),
    { role: ROLE_USER, parts: [...after] },
  ];
}

const request = fc
  .record({ system: fc.array(word, { maxLength: 2 }), turns: fc.array(turn, { minLength: 1, maxLength: 3 }) })
  .map(({ system, turns }) =>
    GenerateRequest.fromPartial({
      prompt: {
        system,
        messages: turns.flatMap(messagesOf),
        tools: [{ name: 'f' }, { name: 'get_weather' }, { name: 'n'.repeat(100) }, { name: `${'n'.repeat(100)}2` }],
      },
      maxOutputTokens: 100,
    }),
  );

interface ChatMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly { id: string; function: { name: string; arguments: string } }[];
}

/** Texts and data of parts, in order. */
function wordsOf(parts: readonly Part[]): string[] {
  return parts.flatMap(({ part }) => {
    if (part?.$case === 'text') return [part.value.text];
    if (part?.$case !== 'image' && part?.$case !== 'document') return [];
    const { source } = part.value;
    return [source?.$case === 'data' ? source.value.base64 : source!.value];
  });
}

/** Whether all of these are in the JSON, in this order. */
function expectInOrder(json: string, words: readonly string[]): void {
  let at = -1;
  for (const each of words) {
    const found = json.indexOf(each, at + 1);
    expect({ word: each, isFound: found > at }).toEqual({ word: each, isFound: true });
    at = found;
  }
}

describe.each([
  ['OpenAI', { isOpenAi: true }, 'gpt-5.6'],
  ['another server', { isOpenAi: false }, 'm'],
])('any conversation of a messages caller, to %s', (_server, flavour, model) => {
  it('becomes a request that a strict vendor accepts, with every text, call and result in its place', () => {
    fc.assert(
      fc.property(request, (value) => {
        const body = JSON.parse(chatCompletionsBody(value, model, flavour).json) as { messages: ChatMessage[] };
        expect(() => checkChatCompletions(body, { isOpenAi: flavour.isOpenAi })).not.toThrow();
        const { system, messages, tools } = value.prompt!;
        const from = (...roles: string[]) => JSON.stringify(body.messages.filter(({ role }) => roles.includes(role)));
        const wordsIn = (...roles: Role[]) => messages.flatMap(({ role, parts }) => (roles.includes(role) ? wordsOf(parts) : []));
        expectInOrder(from('system'), [...system, ...(flavour.isOpenAi ? wordsIn(ROLE_SYSTEM) : [])]);
        expectInOrder(from('user'), wordsIn(ROLE_USER));
        if (!flavour.isOpenAi) expectInOrder(from('user'), wordsIn(ROLE_SYSTEM));
        expectInOrder(
          from('assistant'),
          messages.flatMap(({ role, parts }) => (role === ROLE_ASSISTANT ? wordsOf(parts) : [])),
        );
        const toCallerName = callerToolNames(tools);
        const calls = body.messages.flatMap(({ tool_calls = [] }) =>
          tool_calls.map(({ function: fn }) => [toCallerName(fn.name), fn.arguments]),
        );
        expect(calls).toEqual(
          messages.flatMap(({ parts }) =>
            parts.flatMap(({ part }) => (part?.$case === 'toolCall' ? [[part.value.name, part.value.argumentsJson]] : [])),
          ),
        );
        const results = body.messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content));
        const wanted = messages.flatMap(({ parts }) => parts.flatMap(({ part }) => (part?.$case === 'toolResult' ? [part.value] : [])));
        expect(results).toHaveLength(wanted.length);
        for (const [index, { text: plain, isError, content }] of wanted.entries()) {
          const texts = content.filter(
            ({ part }) => part?.$case === 'text' || (part?.$case === 'document' && part.value.source?.$case === 'text'),
          );
          expectInOrder(
            results[index]!,
            [...(isError ? ['Error: '] : []), plain, ...wordsOf(texts)].filter((each) => each !== ''),
          );
          // Anything that is not text is in a user message, after all results.
          const shown = wordsOf(content.filter((each) => !texts.includes(each)));
          expectInOrder(from('user'), shown);
        }
      }),
      { numRuns: 60 },
    );
  });
});
