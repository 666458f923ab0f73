// Any conversation, from callers of any format to upstreams of any format: nothing is lost, added, reordered or sent to another vendor, and the
// vendor would accept the request.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { WireName } from '../conformance/support/paths.js';
import { checkChatCompletions } from '../upstream/checks/check-chat-completions.js';
import { checkMessages } from '../upstream/checks/check-messages.js';
import { checkResponses } from '../upstream/checks/check-responses.js';
import type { Json } from '../upstream/checks/check.js';
import { conversationFor, readFrom, transcriptOf, writtenIn } from './conversations.js';
import { chatCompletionsWire } from '../../services/inference/upstreams/chat-completions/wire.js';
import type { Wire } from '../../services/inference/upstreams/http/wire.js';
import { responsesWire } from '../../services/inference/upstreams/responses/wire.js';
import { commonCall, ways, wires } from './ways.js';

/** Returns what would be sent to an upstream of this format. Fails if the vendor would reject it. */
function sentTo(client: WireName, upstream: WireName, body: Json): { sent: Json; dropped: readonly string[] } {
  const { json, dropped } = wires[upstream].generateBody(commonCall(client, body), 'm');
  const sent = JSON.parse(json) as Json;
  checks[upstream](sent);
  return { sent, dropped };
}

const checks: Readonly<Record<WireName, (body: Json) => void>> = {
  'chat-completions': (body) => void checkChatCompletions(body),
  messages: (body) => void checkMessages(body, '2023-06-01'),
  responses: (body) => void checkResponses(body),
};

describe.each(ways)('a request from %s to %s', (client, upstream) => {
  it('contains the whole conversation in order, and nothing else', () => {
    fc.assert(
      fc.property(conversationFor(client, upstream), (said) => {
        const { sent, dropped } = sentTo(client, upstream, writtenIn(client, said));
        expect(readFrom(upstream, sent)).toEqual(transcriptOf(said));
        expect(dropped).toEqual([]);
        expect(sent).toMatchObject({ model: 'm', stream: true });
        expect(sent['max_tokens'] ?? sent['max_completion_tokens'] ?? sent['max_output_tokens']).toBe(500);
      }),
      { numRuns: 130 },
    );
  });

  it('is the same when it is sent a second time', () => {
    fc.assert(
      fc.property(conversationFor(client, upstream), (said) => {
        const body = writtenIn(client, said);
        expect(sentTo(client, upstream, body)).toEqual(sentTo(client, upstream, structuredClone(body)));
      }),
      { numRuns: 22 },
    );
  });
});

it.each<[WireName, string, string]>([
  ['chat-completions', 'text', 'text'],
  ['messages', 'text', 'text'],
  ['responses', 'input_text', 'output_text'],
])('a request in the %s format may have more parts in a message than fit on the stack', (client, ofUser, ofAssistant) => {
  const parts = 130_000;
  const of = (role: string, type: string): Json => ({ role, content: Array.from({ length: parts }, () => ({ type, text: '§' })) });
  const turns = [of('user', ofUser), of('assistant', ofAssistant), of('assistant', ofAssistant), { role: 'user', content: 'Go on.' }];
  const call = commonCall(client, { model: 'm', max_tokens: 500, [client === 'responses' ? 'input' : 'messages']: turns });
  for (const { generateBody } of Object.values(wires)) expect(generateBody(call, 'm').json.match(/§/g)).toHaveLength(3 * parts);
});

describe('a verbosity and a cache key', () => {
  const openAi = 'https://api.openai.com/v1';
  const caller = (client: WireName): Json =>
    client === 'responses'
      ? { model: 'm', input: 'Hi', text: { verbosity: 'low', format: { type: 'json_object' } }, prompt_cache_key: 'mine' }
      : { model: 'm', messages: [{ role: 'user', content: 'Hi' }], verbosity: 'low', prompt_cache_key: 'mine' };
  const sent = (client: WireName, wire: Wire, model: string, body = caller(client)) => {
    const { json, dropped } = wire.generateBody(commonCall(client, body), model);
    const { verbosity, text, prompt_cache_key: key } = JSON.parse(json) as Json;
    return { verbosity, text, key, dropped };
  };

  it("reach OpenAI in either of its formats, the key hashed as in the caller's own", () => {
    const chat = chatCompletionsWire('u', openAi);
    const responses = responsesWire('u', openAi);
    const { key } = sent('responses', responses, 'gpt-5');
    expect(key).toMatch(/^[0-9a-f]{64}$/);
    expect(sent('responses', chat, 'gpt-5')).toEqual({ verbosity: 'low', text: undefined, key, dropped: [] });
    expect(sent('chat-completions', responses, 'gpt-5')).toEqual({ verbosity: undefined, text: { verbosity: 'low' }, key, dropped: [] });
    const formatted = { ...caller('chat-completions'), response_format: { type: 'json_object' } };
    expect(sent('chat-completions', responses, 'gpt-5', formatted).text).toEqual({ format: { type: 'json_object' }, verbosity: 'low' });
  });

  it.each(['gpt-4.1', 'o3', 'gpt-5-chat-latest', 'gpt-5.2-codex'])(
    'are a key alone for %s, which rejects every verbosity but medium',
    (model) => {
      const { verbosity, key, dropped } = sent('responses', chatCompletionsWire('u', openAi), model);
      expect([verbosity, typeof key, dropped]).toEqual([undefined, 'string', ['text.verbosity']]);
    },
  );

  it("are dropped, and reported under the caller's names, for other vendors", () => {
    const { 'chat-completions': chat, messages, responses } = wires;
    const nothing = { verbosity: undefined, text: undefined, key: undefined };
    expect(sent('chat-completions', responses, 'gpt-5')).toEqual({ ...nothing, dropped: ['verbosity', 'prompt_cache_key'] });
    expect(sent('chat-completions', messages, 'm')).toEqual({ ...nothing, dropped: ['verbosity', 'prompt_cache_key'] });
    expect(sent('responses', chat, 'gpt-5').dropped).toEqual(['prompt_cache_key', 'text.verbosity']);
  });

  it('are a key alone if the verbosity is of another kind', () => {
    const odd = { ...caller('chat-completions'), verbosity: 'terse' };
    expect(sent('chat-completions', responsesWire('u', openAi), 'gpt-5', odd).dropped).toEqual(['verbosity']);
  });
});
