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
