import { describe, expect, it } from '@jest/globals';
import { GenerateRequest, Role } from '#proto/inference/v1/inference.js';
import { flavourOf } from './flavour.js';
import { chatCompletionsBody } from './request.js';

type Messages = NonNullable<Parameters<typeof GenerateRequest.fromPartial>[0]['prompt']>['messages'];
type Prompt = Parameters<typeof GenerateRequest.fromPartial>[0]['prompt'];

const openAi = { isOpenAi: true };
const other = { isOpenAi: false };
const [user, assistant, system] = [Role.ROLE_USER, Role.ROLE_ASSISTANT, Role.ROLE_SYSTEM] as const;
const text = (value: string, cacheTtl?: string) => ({ part: { $case: 'text' as const, value: { text: value } }, cacheTtl });
const png = {
  part: { $case: 'image' as const, value: { source: { $case: 'data' as const, value: { mediaType: 'image/png', base64: 'aWNvbg==' } } } },
};
const pdf = (rest: object = {}) => ({
  part: {
    $case: 'document' as const,
    value: { source: { $case: 'data' as const, value: { mediaType: 'application/pdf', base64: 'JVBERg==' } }, ...rest },
  },
});
const note = (rest: object = {}) => ({
  part: { $case: 'document' as const, value: { source: { $case: 'text' as const, value: 'the note' }, ...rest } },
});
const link = { part: { $case: 'document' as const, value: { source: { $case: 'url' as const, value: 'https://example.com/a.pdf' } } } };
const call = (id: string) => ({ part: { $case: 'toolCall' as const, value: { id, name: 'f', argumentsJson: '{}' } } });
const result = (toolCallId: string, rest: object = {}) => ({ part: { $case: 'toolResult' as const, value: { toolCallId, ...rest } } });

function built(prompt: Prompt, flavour = other, model = 'm') {
  const { json, dropped } = chatCompletionsBody(GenerateRequest.fromPartial({ prompt, maxOutputTokens: 9 }), model, flavour);
  return { messages: (JSON.parse(json) as { messages: Record<string, unknown>[] }).messages, dropped };
}
const messagesOf = (messages: Messages, flavour = other) => built({ messages }, flavour).messages;

describe('instructions of a messages caller', () => {
  it('are one message, without the bookkeeping line that differs in every call', () => {
    const prompt = {
      system: ['x-anthropic-billing-header: cc_version=2.1; cch=0f', 'Be brief.', 'Be kind.'],
      messages: [{ role: user, parts: [text('Hi')] }],
    };
    expect(built(prompt).messages[0]).toEqual({ role: 'system', content: 'Be brief.\nBe kind.' });
    expect(built(prompt, openAi).messages[0]).toEqual({
      role: 'system',
      content: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.' },
      ],
    });
  });

  it('in the middle of the conversation stay there, but never between a call and its result', () => {
    const messages = [
      { role: user, parts: [text('Hi')] },
      { role: assistant, parts: [call('a')] },
      { role: system, parts: [text('Hurry.')] },
      { role: user, parts: [result('a', { text: 'sun' }), text('And?')] },
    ];
    expect(messagesOf(messages, openAi).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'sun' },
      { role: 'system', content: 'Hurry.' },
      { role: 'user', content: 'And?' },
    ]);
    expect(messagesOf(messages).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'sun' },
      { role: 'user', content: '<system-reminder>\nHurry.\n</system-reminder>\nAnd?' },
    ]);
  });

  it('in the middle become user text for servers other than OpenAI, whose models may accept them only at the beginning', () => {
    const messages = [
      { role: user, parts: [text('Hi')] },
      { role: system, parts: [text('Agents: a'), text('Skills: b')] },
      { role: assistant, parts: [text('Hello.')] },
      { role: system, parts: [text('Hurry.')] },
      { role: assistant, parts: [text('Yes.')] },
      { role: user, parts: [png] },
      { role: system, parts: [text('It is late.')] },
    ];
    const reminder = (value: string) => `<system-reminder>\n${value}\n</system-reminder>`;
    expect(built({ system: ['Be brief.'], messages }).messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: ['Hi', reminder('Agents: a'), reminder('Skills: b')].join('\n') },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: reminder('Hurry.') },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: [expect.objectContaining({ type: 'image_url' }), { type: 'text', text: reminder('It is late.') }] },
    ]);
  });
});

describe('past answers without reasoning', () => {
  const messages = [
    { role: user, parts: [text('Hi')] },
    { role: assistant, parts: [text('Hello.')] },
    { role: assistant, parts: [{ part: { $case: 'reasoning' as const, value: { text: 'Hm' } } }, call('a')] },
    { role: assistant, parts: [call('b')] },
  ];
  const sentTo = (baseUrl: string) => messagesOf(messages, flavourOf(baseUrl)).map(({ reasoning_content }) => reasoning_content);

  it.each(['https://api.deepseek.com/v1', 'https://api.moonshot.ai/v1', 'https://api.moonshot.cn/v1', 'https://api.kimi.com/coding/v1'])(
    'have a blank for %s, which rejects them otherwise',
    (baseUrl) => {
      expect(sentTo(baseUrl)).toEqual([undefined, ' ', 'Hm', ' ']);
    },
  );

  it('have none for other servers', () => {
    expect(sentTo('https://vendor.test/v1')).toEqual([undefined, undefined, 'Hm', undefined]);
  });
});

describe('past tool calls of a messages caller', () => {
  it("are marked as made without Google's signature, for Google's servers only", () => {
    const messages = [
      { role: user, parts: [text('Hi')] },
      { role: assistant, parts: [call('a'), call('b')] },
      { role: user, parts: [result('a'), result('b')] },
    ];
    const extra_content = { google: { thought_signature: 'skip_thought_signature_validator' } };
    const google = flavourOf('https://generativelanguage.googleapis.com/v1beta/openai');
    const fn = { type: 'function', function: { name: 'f', arguments: '{}' } };
    expect(messagesOf(messages, google)[1]!['tool_calls']).toEqual([
      { id: 'a', ...fn, extra_content },
      { id: 'b', ...fn },
    ]);
    expect(messagesOf(messages)[1]!['tool_calls']).toEqual([
      { id: 'a', ...fn },
      { id: 'b', ...fn },
    ]);
  });
});

describe('images and documents of a messages caller', () => {
  it("become parts of the user's message, in order", () => {
    const url = {
      part: { $case: 'image' as const, value: { source: { $case: 'url' as const, value: 'https://example.com/a.png' }, detail: 'low' } },
    };
    expect(
      messagesOf([
        {
          role: user,
          parts: [
            text('See'),
            png,
            url,
            pdf({ filename: 'a.pdf', context: 'mine' }),
            pdf({ title: 'Bill' }),
            pdf(),
            note({ title: 'T', context: 'C' }),
          ],
        },
      ]),
    ).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'See' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aWNvbg==' } },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
          { type: 'text', text: 'Context: mine' },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
          { type: 'text', text: 'Document: Bill' },
          { type: 'file', file: { filename: 'Bill', file_data: 'data:application/pdf;base64,JVBERg==' } },
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
          { type: 'text', text: 'Document: T\nContext: C\nthe note' },
        ],
      },
    ]);
  });

  it('that are only a url are refused, with the position of the document', () => {
    expect(() => messagesOf([{ role: user, parts: [text('See'), link] }])).toThrow(
      'messages[0]: this model accepts documents as data, not by URL',
    );
  });

  it('that are plain text sent as data become text', () => {
    const parts = [
      {
        part: {
          $case: 'document' as const,
          value: {
            source: { $case: 'data' as const, value: { mediaType: 'text/plain', base64: Buffer.from('Grüße').toString('base64') } },
          },
        },
      },
    ];
    expect(messagesOf([{ role: user, parts }])).toEqual([{ role: 'user', content: 'Grüße' }]);
  });
});

describe('results of tools', () => {
  it('with images have a placeholder, and the images are in the user message after all results', () => {
    const messages = [
      { role: user, parts: [text('Look')] },
      { role: assistant, parts: [call('a'), call('b')] },
      {
        role: user,
        parts: [result('a', { content: [text('two'), png, text('icons'), note()] }), result('b', { content: [pdf()] }), text('Which?')],
      },
    ];
    expect(messagesOf(messages).slice(2)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'two\n[image: see the next user message]\nicons\nthe note' },
      { role: 'tool', tool_call_id: 'b', content: '[document: see the next user message]' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'From the result of tool call a:' },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,aWNvbg==' } },
          { type: 'text', text: 'From the result of tool call b:' },
          { type: 'file', file: { filename: 'document.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } },
          { type: 'text', text: 'Which?' },
        ],
      },
    ]);
  });

  it('that are empty or failed still have content', () => {
    const messages = [
      { role: assistant, parts: [call('a'), call('b'), call('c')] },
      { role: user, parts: [result('a'), result('b', { isError: true, text: 'no' }), result('c', { isError: true })] },
    ];
    expect(messagesOf(messages).slice(1)).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '' },
      { role: 'tool', tool_call_id: 'b', content: 'Error: no' },
      { role: 'tool', tool_call_id: 'c', content: 'Error: ' },
    ]);
  });

  it('that are split over messages all come before the user text', () => {
    const messages = [
      { role: assistant, parts: [call('a'), call('b')] },
      { role: user, parts: [text('First.'), result('a', { text: '1' })] },
      { role: user, parts: [result('b', { text: '2' })] },
    ];
    expect(messagesOf(messages).map(({ role, tool_call_id }) => tool_call_id ?? role)).toEqual(['assistant', 'a', 'b', 'user']);
  });

  it('may have more images, and be more, than fit on the stack', () => {
    const count = 130_000;
    const messages = [
      { role: user, parts: [result('a', { content: Array.from({ length: count }, () => png) })] },
      { role: user, parts: Array.from({ length: count }, () => result('a', { text: 'ok' })) },
      { role: assistant, parts: [text('Done.')] },
    ];
    const sent = messagesOf(messages);
    expect(sent).toHaveLength(1 + count + 2);
    expect(sent.at(-2)!['content']).toHaveLength(1 + count);
  });

  it('have ids that Mistral accepts, the same as their calls', () => {
    const mistral = flavourOf('https://api.mistral.ai/v1');
    const ids = ['toolu_01', 'call_1', 'Ab3dEf9Gh', ''];
    const messages = [
      { role: assistant, parts: ids.map(call) },
      { role: user, parts: ids.map((id) => result(id, { text: '1' })) },
    ];
    const [called, ...answered] = messagesOf(messages, mistral) as [{ tool_calls: { id: string }[] }, ...{ tool_call_id: string }[]];
    const sent = called.tool_calls.map(({ id }) => id);
    expect(answered.map(({ tool_call_id }) => tool_call_id)).toEqual(sent);
    expect(new Set(sent).size).toBe(4);
    for (const id of sent) expect(id).toMatch(/^[A-Za-z0-9]{9}$/);
    expect(sent[2]).toBe('Ab3dEf9Gh');
  });

  it('have ids that OpenAI accepts, the same as their calls', () => {
    const id = `toolu_${'x'.repeat(60)}`;
    const messages = [
      { role: assistant, parts: [call(id)] },
      { role: user, parts: [result(id, { text: '1' })] },
    ];
    const [called, answered] = messagesOf(messages, openAi) as [{ tool_calls: { id: string }[] }, { tool_call_id: string }];
    expect(called.tool_calls[0]!.id).toMatch(/^call_[0-9a-f]{35}$/);
    expect(answered.tool_call_id).toBe(called.tool_calls[0]!.id);
    expect(messagesOf(messages)[1]).toMatchObject({ tool_call_id: id });
  });
});

describe('a turn of the assistant', () => {
  it('has null for content alongside calls, and text for anything else', () => {
    expect(messagesOf([{ role: assistant, parts: [call('a')] }])[0]).toMatchObject({ content: null });
    expect(messagesOf([{ role: assistant, parts: [text(''), call('a')] }])[0]).toMatchObject({ content: null });
    expect(messagesOf([{ role: assistant, parts: [] }])[0]).toEqual({ role: 'assistant', content: '' });
  });

  it('sends its reasoning to servers that require it back, signed or not, and never to OpenAI', () => {
    const parts = [
      { part: { $case: 'reasoning' as const, value: { text: 'Hm. ' } } },
      { part: { $case: 'reasoning' as const, value: { redactedData: 'x' } } },
      text('Hi'),
    ];
    expect(messagesOf([{ role: assistant, parts }])[0]).toEqual({ role: 'assistant', content: 'Hi', reasoning_content: 'Hm. ' });
    expect(messagesOf([{ role: assistant, parts }], openAi)[0]).toEqual({ role: 'assistant', content: 'Hi' });
  });

  it('keeps a document that is text', () => {
    expect(messagesOf([{ role: assistant, parts: [text('See: '), note()] }])[0]).toEqual({ role: 'assistant', content: 'See: the note' });
  });
});

describe('cache marks', () => {
  const prompt: Prompt = {
    system: ['One.', 'Two.'],
    systemCacheTtls: { 1: '1h' },
    messages: [
      { role: user, parts: [text('Hi', '5m')] },
      { role: assistant, parts: [call('a')] },
      {
        role: user,
        parts: [
          { ...result('a', { text: 'sun' }), cacheTtl: '5m' },
          { ...png, cacheTtl: '5m' },
        ],
      },
    ],
  };
  const mark = { prompt_cache_breakpoint: { mode: 'explicit', ttl: '30m' } };

  it('become breakpoints if the model accepts them', () => {
    const { messages, dropped } = built(prompt, openAi, 'gpt-5.6');
    expect(messages.map(({ content }) => content)).toEqual([
      [
        { type: 'text', text: 'One.' },
        { type: 'text', text: 'Two.', ...mark },
      ],
      [{ type: 'text', text: 'Hi', ...mark }],
      null,
      [{ type: 'text', text: 'sun', ...mark }],
      [{ type: 'image_url', image_url: { url: 'data:image/png;base64,aWNvbg==' }, ...mark }],
    ]);
    expect(dropped).toEqual([]);
  });

  it('are left out and named for other models', () => {
    for (const [flavour, model] of [
      [openAi, 'gpt-4.1'],
      [other, 'gpt-5.6'],
    ] as const) {
      const { messages, dropped } = built(prompt, flavour, model);
      expect(JSON.stringify(messages)).not.toContain('cache');
      expect(dropped).toEqual(['cache_control']);
    }
    expect(built({ messages: [], tools: [{ name: 'f', cacheTtl: '5m' }] }, openAi, 'gpt-5.6').dropped).toEqual(['cache_control']);
  });
});
