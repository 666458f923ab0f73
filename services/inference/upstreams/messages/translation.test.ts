// A call of another format as a messages body. Each test covers something that breaks without it.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  acceptedBody,
  assistant,
  call,
  hi,
  type MessagesBody,
  type PartialRequest,
  result,
  says,
  sentBody,
  system,
  text,
  thought,
  tools,
  user,
} from '../../testing/messages-bodies.js';
import { messagesToolId } from '#rules/wire/tool-ids.js';

const bodyFor = (messages: NonNullable<PartialRequest['prompt']>['messages'], rest: PartialRequest = {}): MessagesBody =>
  acceptedBody({ ...rest, prompt: { ...rest.prompt, messages } }).body;

describe('a conversation of another format', () => {
  it('keeps instructions at the top, and later ones after the user text before the next answer', () => {
    const messages = [says(system, text('two')), hi, says(system, text('three')), says(user, text('Go'))];
    const { body } = acceptedBody({ prompt: { system: ['one'], messages } }, 'claude-opus-4-8');
    expect(body.system?.map((block) => block.text)).toEqual(['one', 'two']);
    expect(body.messages.map(({ role, content }) => [role, ...content.map((block) => block['text'])])).toEqual([
      ['user', 'Hi', 'Go'],
      ['system', 'three'],
    ]);
  });

  it('has an instruction inside the user text if the model accepts no other form, or if there is no user text before it', () => {
    const reminder = '<system-reminder>\nBe brief.\n</system-reminder>';
    for (const model of ['claude-sonnet-4-5', 'qwen3.8']) {
      const { body } = acceptedBody({ prompt: { messages: [hi, says(system, text('Be brief.')), says(user, text('Go'))] } }, model);
      expect(body.messages).toEqual([{ role: 'user', content: ['Hi', reminder, 'Go'].map((value) => ({ type: 'text', text: value })) }]);
    }
    const bare = bodyFor([hi, says(assistant, text('Hello.')), says(system, text('Be brief.'))]);
    expect(bare.messages.at(-1)).toEqual({ role: 'user', content: [{ type: 'text', text: reminder }] });
  });

  it('never begins with an instruction, even if everything before it is empty', () => {
    const body = bodyFor([says(user, text(' ')), says(system, text('one')), hi]);
    expect(body.system).toEqual([{ type: 'text', text: 'one' }]);
    expect(body.messages.map(({ role }) => role)).toEqual(['user']);
  });

  it('begins with the user even if an application greets first', () => {
    expect(bodyFor([says(assistant, text('Welcome!')), hi]).messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  it('has the results of parallel calls in one message, before the user text', () => {
    const history = [
      hi,
      says(assistant, text('One moment.'), call('a'), call('b')),
      says(user, result('a')),
      says(user, text('And?'), result('b')),
    ];
    expect(
      bodyFor(history, { prompt: { tools } })
        .messages.at(-1)!
        .content.map(({ type }) => type),
    ).toEqual(['tool_result', 'tool_result', 'text']);
  });

  it('has thoughts first in their turn, and only signed ones', () => {
    const turn = says(
      assistant,
      text('So.'),
      thought(''),
      thought('sig'),
      { part: { $case: 'reasoning', value: { redactedData: 'opaque' } } },
      call('a'),
    );
    expect(bodyFor([hi, turn, says(user, result('a'))], { prompt: { tools } }).messages[1]!.content.map(({ type }) => type)).toEqual([
      'thinking',
      'redacted_thinking',
      'text',
      'tool_use',
    ]);
  });

  it('keeps a thought whose text was not shown', () => {
    const hidden = { part: { $case: 'reasoning' as const, value: { signature: 'sig' } } };
    expect(bodyFor([hi, says(assistant, hidden, text('So.')), hi]).messages[1]!.content[0]).toEqual({
      type: 'thinking',
      thinking: '',
      signature: 'sig',
    });
  });

  it('lets the answer continue the caller’s beginning, without trailing space', () => {
    expect(bodyFor([hi, says(assistant, text('Once \n'))]).messages.at(-1)).toEqual({
      role: 'assistant',
      content: [{ type: 'text', text: 'Once' }],
    });
  });

  it('has the same acceptable id in a call and its result', () => {
    const body = bodyFor([hi, says(assistant, call('functions.f:0')), says(user, result('functions.f:0'))], { prompt: { tools } });
    expect(body.messages[1]!.content[0]!['id']).toBe(messagesToolId('functions.f:0'));
    expect(body.messages[2]!.content[0]!['tool_use_id']).toBe(messagesToolId('functions.f:0'));
  });
});

describe('images and documents', () => {
  const data = (mediaType: string) => ({ $case: 'data' as const, value: { mediaType, base64: 'aGFsbG8=' } });
  const image = (mediaType: string) => ({ part: { $case: 'image' as const, value: { source: data(mediaType), detail: 'high' } } });
  const document = (value: object) => ({ part: { $case: 'document' as const, value } });

  it('become blocks of each source', () => {
    const url = { part: { $case: 'image' as const, value: { source: { $case: 'url' as const, value: 'https://example.com/a.png' } } } };
    const pdf = document({ source: data('application/pdf'), filename: 'a.pdf', context: 'From the archive.' });
    const plain = document({ source: data('text/markdown'), title: 'T' });
    const linked = document({ source: { $case: 'url', value: 'https://example.com/a.pdf' } });
    expect(bodyFor([says(user, image('image/jpg'), url, pdf, plain, linked, text('What?'))]).messages[0]!.content).toEqual([
      { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: 'aGFsbG8=' } },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      {
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: 'aGFsbG8=' },
        title: 'a.pdf',
        context: 'From the archive.',
      },
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'hallo' }, title: 'T' },
      { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
      { type: 'text', text: 'What?' },
    ]);
  });

  it('of tool results stay in them', () => {
    const seen = { part: { $case: 'toolResult' as const, value: { toolCallId: 'a', content: [text('Look:'), image('image/png')] } } };
    const body = bodyFor([hi, says(assistant, call('a')), says(user, seen)], { prompt: { tools } });
    expect((body.messages[2]!.content[0]!['content'] as { type: string }[]).map(({ type }) => type)).toEqual(['text', 'image']);
  });

  it.each([image('image/tiff'), document({ source: data('application/zip') })])(
    'of other types are refused with a clear message',
    (part) => {
      expect(() => bodyFor([says(user, part)])).toThrow(/not (image\/tiff|application\/zip)/);
    },
  );
});

describe('cache marks', () => {
  it('are where the caller put them', () => {
    const prompt = { system: ['one', 'two'], systemCacheTtls: { 1: '1h' }, tools: [{ ...tools[0]!, cacheTtl: '1h' }] };
    const body = bodyFor([says(user, text('a', '5m'), text('b'))], { prompt });
    expect(body['tools']).toMatchObject([{ cache_control: { type: 'ephemeral', ttl: '1h' } }]);
    expect(body.system).toEqual([
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two', cache_control: { type: 'ephemeral', ttl: '1h' } },
    ]);
    expect(body.messages[0]!.content).toEqual([
      { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } },
      { type: 'text', text: 'b' },
    ]);
  });

  it('beyond the fourth from the end are left out, and reported to the caller', () => {
    const messages = [says(user, ...['a', 'b', 'c', 'd', 'e'].map((word) => text(word, '5m')))];
    expect(bodyFor(messages).messages[0]!.content.map((block) => block['cache_control'] !== undefined)).toEqual([
      false,
      true,
      true,
      true,
      true,
    ]);
    expect(sentBody({ prompt: { messages } }).dropped).toEqual(['cache_control']);
  });

  it('of an hour after one of five minutes last five minutes', () => {
    const messages = [says(user, text('a', '5m'), text('b', '1h'))];
    expect(bodyFor(messages).messages[0]!.content[1]!['cache_control']).toEqual({ type: 'ephemeral' });
  });
});

describe('tools of another format', () => {
  const schemaOf = (schema: unknown, strict?: boolean) =>
    (
      bodyFor([hi], { prompt: { tools: [{ name: 'f', parametersJson: JSON.stringify(schema), strict }] } })['tools'] as {
        input_schema: unknown;
        strict?: boolean;
      }[]
    )[0]!;

  it('have an object at the root of their schema', () => {
    expect(schemaOf({}).input_schema).toEqual({ type: 'object', properties: {} });
    expect(schemaOf({ type: ['object', 'null'], properties: { x: {} } }).input_schema).toEqual({ type: 'object', properties: { x: {} } });
  });

  it('with alternatives at the root have all their properties, and require what every alternative does', () => {
    const either = {
      anyOf: [
        { properties: { a: { type: 'string' }, k: { const: 1 } }, required: ['a', 'k'] },
        { properties: { b: {}, k: { const: 2 } }, required: ['k'] },
      ],
    };
    expect(schemaOf(either, true)).toEqual({
      name: 'f',
      input_schema: {
        type: 'object',
        properties: { a: { type: 'string' }, k: { anyOf: [{ const: 1 }, { const: 2 }] }, b: {} },
        required: ['k'],
      },
    });
    expect(schemaOf({ allOf: [{ required: ['a'] }, { required: ['b'] }] }).input_schema).toMatchObject({ required: ['a', 'b'] });
    const forms = Array.from({ length: 4000 }, (_, index) => ({ const: index }));
    const many = { anyOf: forms.flatMap((k) => [{ properties: { k } }, { properties: { k } }]) };
    expect(schemaOf(many).input_schema).toMatchObject({ properties: { k: { anyOf: forms } } });
  });
});

describe('structured output', () => {
  const schema = {
    type: 'object',
    properties: {
      n: { type: 'integer', minimum: 1, description: 'A count.' },
      l: { type: 'array', items: { type: 'object', properties: {} } },
    },
    oneOf: undefined,
    $schema: 'x',
  };
  const jsonSchema = { format: { $case: 'jsonSchema' as const, value: { name: 'out', schemaJson: JSON.stringify(schema), strict: true } } };

  it('is a schema that the vendor enforces: objects closed, unsupported keywords described in words', () => {
    expect(bodyFor([hi], { responseFormat: jsonSchema })['output_config']).toEqual({
      format: {
        type: 'json_schema',
        schema: {
          type: 'object',
          properties: {
            n: { type: 'integer', description: 'A count.\n\n{minimum: 1}' },
            l: { type: 'array', items: { type: 'object', properties: {}, additionalProperties: false } },
          },
          additionalProperties: false,
        },
      },
    });
  });

  it('can be combined with an effort', () => {
    expect(bodyFor([hi], { responseFormat: jsonSchema, reasoning: { effort: 'low' } })['output_config']).toMatchObject({
      effort: 'low',
      format: {},
    });
  });

  it('is an instruction for models without schema support, which is reported to the caller', () => {
    const { body, dropped } = sentBody({ prompt: { messages: [hi] }, responseFormat: jsonSchema }, 'claude-3-7-sonnet-20250219');
    expect(body.system!.at(-1)!.text).toContain('"minimum":1');
    expect(body['output_config']).toBeUndefined();
    expect(dropped).toEqual(['response_format.json_schema.strict']);
  });

  it('of any form is an instruction, never a forced tool', () => {
    const body = bodyFor([hi], { prompt: { system: ['Be brief.'] }, responseFormat: { format: { $case: 'jsonObject', value: {} } } });
    expect(body.system!.map((block) => block.text)).toEqual(['Be brief.', expect.stringContaining('one JSON object and nothing else')]);
    expect(body['tool_choice']).toBeUndefined();
  });
});

describe('any conversation', () => {
  const words = fc.string({ minLength: 1, maxLength: 20 }).filter((value) => value.trim() !== '');
  const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 3 });
  const exchange = fc.oneof(
    fc.record({ asked: words, answered: words }).map((turn) => [says(user, text(turn.asked)), says(assistant, text(turn.answered))]),
    fc
      .record({ asked: words, ids, args: fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 3 }), result: fc.string(), answered: words })
      .map((turn) => [
        says(user, text(turn.asked)),
        says(assistant, ...turn.ids.map((id) => call(id, 'f', JSON.stringify(turn.args)))),
        ...turn.ids.map((id) => says(user, result(id, turn.result))),
        says(assistant, text(turn.answered)),
      ]),
  );

  it('keeps its texts, names, arguments and order, and is accepted by a strict upstream', () => {
    fc.assert(
      fc.property(fc.array(exchange, { maxLength: 5 }), words, (exchanges, last) => {
        const messages = [...exchanges.flat(), says(user, text(last))];
        const body = bodyFor(messages, { prompt: { tools } });
        const expected = messages.flatMap(({ parts }) => (parts as readonly unknown[]).map((part) => partSummary(part)));
        const got = body.messages.flatMap(({ content }) => content.map((block) => blockSummary(block)));
        expect(got).toEqual(expected);
      }),
      { numRuns: 200 },
    );
  });
});

function partSummary(part: unknown): unknown[] {
  const { $case, value } = (part as { part: { $case: string; value: Record<string, string> } }).part;
  if ($case === 'text') return ['text', value['text']];
  if ($case === 'toolCall') return ['call', messagesToolId(value['id']!), value['name'], JSON.parse(value['argumentsJson']!)];
  return ['result', messagesToolId(value['toolCallId']!), value['text']];
}

function blockSummary(block: Record<string, unknown>): unknown[] {
  if (block['type'] === 'text') return ['text', block['text']];
  if (block['type'] === 'tool_use') return ['call', block['id'], block['name'], block['input']];
  return ['result', block['tool_use_id'], block['content'] ?? ''];
}
