// Our own count of a prompt, which is charged if the upstream reports no input: it counts what that upstream receives, and nothing else.
import { describe, expect, it, jest } from '@jest/globals';
import type { GenerateRequest } from '#proto/inference/v1/inference.js';
import { chatCompletionsWire } from '../../services/inference/upstreams/chat-completions/wire.js';
import type { Wire } from '../../services/inference/upstreams/http/wire.js';
import { responsesWire } from '../../services/inference/upstreams/responses/wire.js';
import { estimateInput, readableOf, roughInput } from '../../services/inference/tokens/estimate.js';
import { inputTokensMax } from '../../services/inference/tokens/prompt-text.js';
import type { WireName } from '../conformance/support/paths.js';
import { commonCall, formats, wires } from './ways.js';

// Loading the vocabulary takes a while on a busy machine.
jest.setTimeout(60_000);

const upstreams: readonly (readonly [string, Wire])[] = [
  ...Object.entries(wires),
  ['OpenAI chat-completions', chatCompletionsWire('u', 'https://api.openai.com/v1')],
  ['OpenAI responses', responsesWire('u', 'https://api.openai.com/v1')],
];

const encrypted = `gAAAA${'x9Qz'.repeat(5000)}`;
const encryptedTokens = Math.ceil((encrypted.length * 3) / 16);
const thought = 'A long thought about the matter. '.repeat(600);
const hello = { role: 'user', content: 'Hello' };

/** Conversations in each format whose answer has this reasoning. */
const reasonings: Readonly<Record<WireName, Readonly<Record<string, unknown>>>> = {
  'chat-completions': {
    text: { reasoning_content: thought },
    redacted: { thinking_blocks: [{ type: 'redacted_thinking', data: encrypted }] },
    signed: { thinking_blocks: [{ type: 'thinking', thinking: 'So.', signature: encrypted }] },
  },
  messages: {
    text: { type: 'thinking', thinking: thought, signature: '' },
    redacted: { type: 'redacted_thinking', data: encrypted },
    signed: { type: 'thinking', thinking: 'So.', signature: encrypted },
  },
  responses: {
    text: { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: thought }] },
    encrypted: { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: encrypted },
  },
};

function conversation(client: WireName, reasoning: unknown): unknown {
  switch (client) {
    case 'chat-completions':
      return { model: 'm', messages: [hello, { role: 'assistant', content: 'Yes.', ...(reasoning as object) }, hello] };
    case 'messages': {
      const content = [...(reasoning === undefined ? [] : [reasoning]), { type: 'text', text: 'Yes.' }];
      return { model: 'm', max_tokens: 100, messages: [hello, { role: 'assistant', content }, hello] };
    }
    case 'responses':
      return { model: 'm', input: [hello, ...(reasoning === undefined ? [] : [reasoning]), { role: 'assistant', content: 'Yes.' }, hello] };
  }
}

const counted = (request: GenerateRequest, wire: Wire): Promise<number> => estimateInput(readableOf(request, wire), 'm');

const cases = (Object.keys(formats) as WireName[]).flatMap((client) =>
  Object.keys(reasonings[client]).flatMap((kind) => upstreams.map(([name, wire]) => [client, kind, name, wire] as const)),
);

describe('our count of a conversation with reasoning', () => {
  it.each(cases)('from %s, %s, to %s: only what is sent', async (client, kind, _name, wire) => {
    const request = commonCall(client, conversation(client, reasonings[client][kind]));
    const plain = await counted(commonCall(client, conversation(client, undefined)), wire);
    const { json } = wire.generateBody(request, 'm');
    const tokens = (await counted(request, wire)) - plain;
    if (json.includes(encrypted)) expect(tokens).toBeLessThanOrEqual(encryptedTokens);
    else if (json.includes(thought)) expect(tokens).toBeGreaterThan(3500);
    else expect(tokens).toBeLessThan(10);
    expect(roughInput(readableOf(request, wire), 'm')).toBeLessThanOrEqual(inputTokensMax(request.prompt!));
  });

  it.each(['redacted', 'signed'])('counts %s reasoning that its vendor gets back by its length', async (kind) => {
    const request = commonCall('messages', conversation('messages', reasonings.messages[kind]));
    const plain = await counted(commonCall('messages', conversation('messages', undefined)), wires.messages);
    expect((await counted(request, wires.messages)) - plain).toBe(encryptedTokens);
  });

  it('counts an encrypted item that its vendor gets back by its length', async () => {
    const request = commonCall('responses', conversation('responses', reasonings.responses['encrypted']));
    const plain = await counted(commonCall('responses', conversation('responses', undefined)), wires.responses);
    expect((await counted(request, wires.responses)) - plain).toBe(encryptedTokens);
  });
});

it('ids of tool calls count nothing', async () => {
  const withId = (id: string): GenerateRequest =>
    commonCall('chat-completions', {
      model: 'm',
      messages: [
        hello,
        { role: 'assistant', tool_calls: [{ id, type: 'function', function: { name: 'look', arguments: '{}' } }] },
        { role: 'tool', tool_call_id: id, content: 'nothing' },
      ],
    });
  const short = await counted(withId('c1'), wires['chat-completions']);
  expect(await counted(withId(`call_${'aB3x'.repeat(9)}`), wires['chat-completions'])).toBe(short);
});

describe('our count of content that only one format can express', () => {
  const user = (part: unknown): unknown => ({ model: 'm', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }, part] }] });
  const audio = (data: string): unknown => user({ type: 'input_audio', input_audio: { data, format: 'mp3' } });
  const url = 'https://media.test/talk.mp4';
  const output = 'A line of output of the shell.\n'.repeat(500);
  const shell = (text: string): unknown => ({
    model: 'm',
    input: [
      hello,
      { type: 'local_shell_call', call_id: 'c', status: 'completed', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'local_shell_call_output', id: 'c', output: text },
    ],
  });

  const contents: readonly (readonly [string, WireName, unknown, number, number])[] = [
    ['ten seconds of audio', 'chat-completions', audio('SUQz'.repeat(40_000)), 200, 400],
    ['audio behind a url', 'chat-completions', audio(url), 5000, 10_000],
    ['a video behind a url', 'chat-completions', user({ type: 'video_url', video_url: { url } }), 5000, 10_000],
    ['the output of a shell', 'responses', shell(output), 3500, 4500],
  ];

  it.each(contents)('%s', async (_name, client, body, least, most) => {
    const request = commonCall(client, body);
    const tokens = await counted(request, wires[client]);
    expect(tokens).toBeGreaterThanOrEqual(least);
    expect(tokens).toBeLessThanOrEqual(most);
    // No other upstream receives it.
    expect(request.native!.refusedElsewhere.length).toBeGreaterThan(0);
  });

  it('holds the whole context for what is behind a url, whatever names it', () => {
    const image = { type: 'image', source: { type: 'future', reference: url } };
    expect(formats['chat-completions'].parse(audio(url), {}).documents).toBe(1);
    expect(formats['chat-completions'].parse(audio('SUQz'), {}).documents).toBe(0);
    expect(formats.messages.parse({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content: [image] }] }, {}).documents).toBe(1);
  });
});
