// The most frequent complaints of users of other gateways about formats, streams and usage: section 4 of the field notes, each with its
// number and source there, on every path that it can happen on. Those that pitfalls.test.ts and features.test.ts test are not repeated.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { encryptedContentOf } from '#rules/wire/reasoning-seals.js';
import type { Json } from '../upstream/checks/check.js';
import type { Block, Script } from '../upstream/script.js';
import { type ExpectedAnswer, expectAnswers, onPath, usage } from './support/expect-answer.js';
import { conformance } from './support/gateway.js';
import { from, isNative, over, type Path, paths } from './support/paths.js';
import { type Bodies, tools } from './support/requests.js';
import { type Edit, weather, weatherSeen } from './support/variants.js';

const gateway = conformance();

const words = 'Good evening, and good night.';
const text: Block = { type: 'text', text: words };
const thought: Block = { type: 'reasoning', text: 'Let me see.', signature: 'c2lnbmF0dXJl' };
const textSeen: ExpectedAnswer = { seen: { text: words, calls: [], stop: 'end' } };
const streamed = (list: readonly Path[]): readonly Path[] => list.filter(({ streaming }) => streaming);

const choices =
  (change: (delta: Json) => Json): Edit =>
  (chunks) =>
    chunks.map((chunk) => ({
      ...chunk,
      choices: (chunk['choices'] as Json[]).map((choice) => ({ ...choice, delta: change(choice['delta'] as Json) })),
    }));

describe('tool calls and blocks', () => {
  it('1 (litellm#25836): arguments that arrive in one piece with the name are not lost', async () => {
    const whole: Edit = (chunks) => {
      const opening = chunks.find((chunk) => JSON.stringify(chunk).includes('call_1'))!;
      const call = { index: 0, id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Zürich"}' } };
      return [chunks[0]!, { ...opening, choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }] }, ...chunks.slice(-2)];
    };
    await expectAnswers(
      gateway,
      over('chat-completions'),
      { blocks: [weather], edit: whole },
      { seen: { calls: [weatherSeen], stop: 'tool_calls' } },
      tools,
    );
  });

  it('2 (litellm#30765): the first piece of text after a thinking block is not lost', async () => {
    const outcomes = await expectAnswers(
      gateway,
      paths,
      { blocks: [thought, text], deltaChars: 4 },
      { seen: { reasoning: 'Let me see.', text: words } },
    );
    for (const [, { frames }] of [...outcomes].filter(([{ client, streaming }]) => client === 'messages' && streaming)) {
      const first = frames.find(({ data }) => ((data as Json)['delta'] as Json | undefined)?.['type'] === 'text_delta');
      expect(first!.data).toMatchObject({ index: 1, delta: { text: 'Good' } });
    }
  });

  it('3 (litellm#29286): an empty list of tool calls starts no tool call', async () => {
    await expectAnswers(
      gateway,
      over('chat-completions'),
      { blocks: [text], edit: choices((delta) => ({ ...delta, tool_calls: [] })) },
      textSeen,
    );
  });

  it('4 (litellm#27442, new-api#5483, bifrost#4890): each block starts and stops, including those of server tools', async () => {
    const search: Block = {
      type: 'vendor',
      start: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: '{"query":"news"}' }],
    };
    const result: Block = { type: 'vendor', start: { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [] } };
    const outcomes = await expectAnswers(
      gateway,
      over('messages'),
      { blocks: [search, result, text, weather] },
      { seen: { text: words, calls: [weatherSeen], stop: 'tool_calls' } },
      tools,
    );
    for (const [path, { body, text: raw }] of outcomes) {
      if (!isNative(path)) expect(raw).not.toContain('srvtoolu_1');
      else if (!path.streaming)
        expect((body['content'] as Json[]).map(({ type }) => type)).toEqual([
          'server_tool_use',
          'web_search_tool_result',
          'text',
          'tool_use',
        ]);
    }
  });

  it('5 (litellm#5231, ccNexus#89): a tool call after text has the index 0 for a chat-completions caller', async () => {
    const outcomes = await expectAnswers(
      gateway,
      streamed(from('chat-completions')),
      { blocks: [thought, text, weather] },
      { seen: { calls: [weatherSeen] } },
      tools,
    );
    for (const outcome of outcomes.values()) expect(outcome.text).toContain('"tool_calls":[{"index":0,"id":"call_1"');
  });
});

describe('usage', () => {
  it('26 (oh-my-pi#9569, openwiki#590): a call without a cap is accepted', async () => {
    await expectAnswers(gateway, from('chat-completions'), { blocks: [text] }, textSeen, { 'chat-completions': { max_tokens: undefined } });
  });

  it('28 (zed#19502, open-design#4798, new-api#4168): a failed call is free', async () => {
    for (const status of [400, 429, 500, 529]) {
      const body = { type: 'error', error: { type: 'api_error', message: 'No.', param: null, code: null } };
      await expectAnswers(gateway, paths, { fault: { kind: 'status', status, body } }, { end: { kind: 'failed' } });
    }
  });
});

describe('frames and errors', () => {
  it('11 (new-api#5530, bifrost#6342): thinking is sent back unchanged', async () => {
    const thinking = { type: 'thinking', thinking: 'Let me see.', signature: 'c2lnbmF0dXJl' };
    const history: Bodies = {
      'chat-completions': {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: words, thinking_blocks: [thinking] },
          { role: 'user', content: 'Go on' },
        ],
      },
      messages: {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: [thinking, { type: 'text', text: words }] },
          { role: 'user', content: 'Go on' },
        ],
      },
      responses: {
        input: [
          { role: 'user', content: 'Hi' },
          {
            type: 'reasoning',
            summary: [{ type: 'summary_text', text: thinking.thinking }],
            encrypted_content: encryptedContentOf({ text: thinking.thinking, signature: thinking.signature, redactedData: '' }),
          },
          { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: words }] },
          { role: 'user', content: 'Go on' },
        ],
      },
    };
    const outcomes = await expectAnswers(gateway, over('messages'), { blocks: [text] }, textSeen, history);
    for (const { sent } of outcomes.values())
      expect((sent!.body['messages'] as Json[])[1]!['content']).toEqual([thinking, { type: 'text', text: words }]);
  });

  it('12 (litellm#36655, #39037): errors are in the caller’s format, and overload is recognisable', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded', param: null, code: null } };
    const script = ({ upstream }: Path): Script => ({
      fault: { kind: 'status', status: upstream === 'messages' ? 529 : 503, body: overloaded },
    });
    const outcomes = await expectAnswers(gateway, paths, script, { end: { kind: 'failed' } });
    for (const [path, { status, body, text: raw }] of outcomes) {
      await onPath(path, () => {
        expect(raw).not.toContain('None');
        if (path.client === 'messages')
          expect({ status, body }).toMatchObject({ status: 529, body: { type: 'error', error: { type: 'overloaded_error' } } });
        else expect({ status, body }).toMatchObject({ status: 503, body: { error: { type: expect.any(String), param: null } } });
      });
    }
  });

  it('13 (litellm#4259, #37706): a vendor’s 429 is a 429', async () => {
    const body = { type: 'error', error: { type: 'rate_limit_error', message: 'Slow down.', param: null, code: 'rate_limit_exceeded' } };
    const outcomes = await expectAnswers(
      gateway,
      paths,
      { fault: { kind: 'status', status: 429, body, headers: { 'retry-after': '2' } } },
      { end: { kind: 'failed' } },
    );
    for (const { status, headers } of outcomes.values()) expect([status, headers.get('retry-after')]).toEqual([429, '2']);
  });

  it('14 (Portkey#741, litellm#29223): an error in the middle ends the stream with an error in the caller’s format', async () => {
    const error = { type: 'overloaded_error', message: 'Overloaded', param: null, code: null };
    const outcomes = await expectAnswers(
      gateway,
      paths,
      { blocks: [text], deltaChars: 4, fault: { kind: 'error-frame', afterFrames: 6, error } },
      { end: { kind: 'broken' } },
    );
    for (const [{ client }, { frames }] of [...outcomes].filter(([{ streaming }]) => streaming)) {
      expect(frames.at(-1)).toMatchObject(
        {
          messages: { event: 'error', data: { type: 'error', error: { type: 'overloaded_error' } } },
          'chat-completions': { event: undefined, data: { error: { message: expect.any(String) } } },
          responses: { event: 'response.failed', data: { response: { status: 'failed', error: { code: 'server_error' } } } },
        }[client],
      );
    }
  });
});

describe('30 (langwatch#6184, bifrost#3511, #1479): Claude Code', () => {
  const fixture = (name: string): { body: Json; headers: Record<string, string> } => {
    const {
      model: _model,
      stream: _stream,
      ...body
    } = JSON.parse(readFileSync(new URL(`../../gateway/formats/fixtures/messages/${name}.json`, import.meta.url), 'utf8')) as Json;
    const betas =
      'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,advanced-tool-use-2025-11-20,effort-2025-11-24';
    return { body, headers: { 'anthropic-version': '2023-06-01', 'anthropic-beta': betas } };
  };

  it.each(['claude-code-first', 'claude-code-tool-turn'])('gets answers from models with upstreams of either format: %s', async (name) => {
    const { body, headers } = fixture(name);
    for (const path of from('messages')) {
      gateway.answer(path.upstream, { blocks: [text], usage });
      const outcome = await gateway.call(
        path,
        {
          ...body,
          max_tokens: 8000,
          ...((body['thinking'] as Json | undefined)?.['type'] === 'enabled' ? { thinking: { type: 'enabled', budget_tokens: 4000 } } : {}),
        },
        headers,
      );
      await onPath(path, () =>
        expect({ status: outcome.status, seen: outcome.seen }).toMatchObject({ status: 200, seen: { text: words, stop: 'end' } }),
      );
    }
  });

  it('may request less thinking than a vendor’s minimum budget, and a small cap', async () => {
    await expectAnswers(gateway, over('messages'), { blocks: [text] }, textSeen, {
      'chat-completions': { reasoning_effort: 'low', max_tokens: 200 },
      messages: { output_config: { effort: 'low' }, max_tokens: 200 },
    });
  });
});
