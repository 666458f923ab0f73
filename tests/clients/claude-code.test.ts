// Requests as Claude Code sends them, over plain HTTP: every frame is in its place, whatever format the upstream uses.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { get, readSse } from '../support/clients/calls.js';
import { root } from '../support/systems/process.js';
import { expectNoneRefused } from '../upstream/expect-none-refused.js';
import type { RecordedRequest } from '../upstream/stub-upstream.js';
import { reasoning, textBlock, usage } from './answers.js';
import { type Stage, startStage, type Upstream, upstreams } from './stage.js';

const betas = [
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'context-management-2025-06-27',
  'mid-conversation-tool-changes-2026-07-01',
  'thinking-token-count-2026-05-13',
  'advanced-tool-use-2025-11-20',
  'effort-2025-11-24',
  'per-turn-control-2026-07-01',
  'thinking-display-updates-2026-08-18',
  'thinking-binding-controls-2026-08-01',
  'mid-conversation-output-config-2026-07-01',
  'mid-conversation-system-clear-at-2026-08-21',
];
const bashCalls = [
  { type: 'tool_call', id: 'toolu_3', name: 'Bash', arguments: '{"command":"ls -l src"}' },
  { type: 'tool_call', id: 'toolu_4', name: 'Bash', arguments: '{"command":"date"}' },
] as const;

let stage: Stage;

beforeAll(async () => {
  stage = await startStage();
});

afterEach(() => expectNoneRefused(stage.stub));
afterAll(() => stage?.stop());

const fixture = (name: string): Record<string, unknown> =>
  JSON.parse(readFileSync(join(root, `gateway/formats/fixtures/messages/${name}.json`), 'utf8')) as Record<string, unknown>;

/** What Claude Code sends with the body of a fixture. */
function send(
  name: string,
  upstream: Upstream,
  auth: Record<string, string> = { authorization: `Bearer ${stage.system.firstKey}` },
  path = '/v1/messages?beta=true',
  fields: Record<string, unknown> = {},
): Promise<Response> {
  return fetch(`${stage.system.baseUrl}${path}`, {
    method: 'POST',
    headers: {
      ...auth,
      'content-type': 'application/json',
      accept: 'application/json',
      'accept-encoding': 'gzip, deflate, br, zstd',
      'user-agent': 'claude-cli/2.1.329 (external, sdk-cli)',
      'x-app': 'cli',
      'x-claude-code-session-id': 's1',
      'anthropic-version': '2023-06-01',
      'anthropic-beta': betas.join(','),
      'anthropic-dangerous-direct-browser-access': 'true',
      'x-stainless-lang': 'js',
      'x-stainless-retry-count': '0',
      'x-stainless-timeout': '600',
    },
    body: JSON.stringify({ ...fixture(name), ...fields, model: stage.model(upstream) }),
  });
}

/** Returns the frames without pings, each with its name and the index and kind of its block; consecutive equal ones are merged. */
function outline(frames: { event: string; data: unknown }[]): string[] {
  const lines = frames.map(({ event, data }) => {
    const {
      type,
      index,
      content_block: block,
      delta,
    } = data as { type: string; index?: number; content_block?: { type: string }; delta?: { type?: string } };
    expect(type).toBe(event);
    return [event, index, block?.type ?? delta?.type].filter((part) => part !== undefined).join(' ');
  });
  return lines.filter((line, at) => line !== 'ping' && line !== lines[at - 1]);
}

const body = (requests: readonly RecordedRequest[]): string => JSON.stringify(requests.at(-1)!.body);

describe.each(upstreams)('Claude Code over a %s upstream', (upstream) => {
  it('begins a session', async () => {
    const requests = stage.play(upstream, { blocks: [reasoning, textBlock, ...bashCalls], interleaveToolCalls: true, usage });
    const response = await send('claude-code-first', upstream);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const frames = await readSse(response);
    expect(outline(frames)).toEqual([
      'message_start',
      'content_block_start 0 thinking',
      'content_block_delta 0 thinking_delta',
      ...(upstream === 'messages' ? ['content_block_delta 0 signature_delta'] : []),
      'content_block_stop 0',
      'content_block_start 1 text',
      'content_block_delta 1 text_delta',
      'content_block_stop 1',
      ...[2, 3].flatMap((index) => [
        `content_block_start ${index} tool_use`,
        `content_block_delta ${index} input_json_delta`,
        `content_block_stop ${index}`,
      ]),
      'message_delta',
      'message_stop',
    ]);
    const { tokens } = await stage.charge(response.headers.get('request-id'));
    expect(frames.at(-2)!.data).toMatchObject({
      delta: { stop_reason: 'tool_use', stop_sequence: null },
      usage: {
        input_tokens: tokens.input,
        cache_read_input_tokens: tokens.cache_read,
        cache_creation_input_tokens: tokens.cache_write_5m + tokens.cache_write_1h,
        output_tokens: tokens.output,
      },
    });
    // The id of the user is not sent upstream.
    expect(body(requests())).not.toMatch(/device_id|session_id/);
    expect(requests()[0]!.headers['x-claude-code-session-id']).toBeUndefined();
  });

  it('continues after tool calls', async () => {
    const requests = stage.play(upstream, { blocks: [textBlock] });
    expect(outline(await readSse(await send('claude-code-tool-turn', upstream)))).toEqual([
      'message_start',
      'content_block_start 0 text',
      'content_block_delta 0 text_delta',
      'content_block_stop 0',
      'message_delta',
      'message_stop',
    ]);
    expect(body(requests())).toMatch(/I look\..*toolu_1.*README\.md.*toolu_2.*date: not found.*Go on\./);
  });

  it('can use the key in either header, and either path', async () => {
    stage.play(upstream, { blocks: [textBlock] });
    const { firstKey } = stage.system;
    for (const auth of [{ authorization: `Bearer ${firstKey}` }, { 'x-api-key': firstKey }] as Record<string, string>[]) {
      for (const path of ['/v1/messages?beta=true', '/v1/v1/messages?beta=true']) {
        const response = await send('claude-code-tool-turn', upstream, auth, path);
        expect(response.status).toBe(200);
        expect(await response.text()).toContain('message_stop');
      }
    }
  });

  it('shows an error when the upstream breaks off', async () => {
    stage.play(upstream, {
      blocks: [textBlock],
      fault: { kind: 'error-frame', afterFrames: 5, error: { type: 'overloaded_error', message: 'Overloaded' } },
    });
    const frames = await readSse(await send('claude-code-tool-turn', upstream));
    expect(frames.at(-1)).toMatchObject({ event: 'error', data: { type: 'error', error: { type: expect.any(String) } } });
    expect(frames.map(({ event }) => event)).not.toContain('message_stop');
  });
});

describe('Claude Code', () => {
  it('has its beta flags, version and cache breakpoints sent to a messages upstream', async () => {
    const requests = stage.play('messages', { blocks: [textBlock] });
    await (await send('claude-code-first', 'messages')).text();
    const { headers } = requests()[0]!;
    expect(headers['anthropic-version']).toBe('2023-06-01');
    expect(String(headers['anthropic-beta']).split(',')).toEqual(betas);
    expect(body(requests())).toMatch(/"cache_control":\{"type":"ephemeral","ttl":"1h"\}.*"context_management"/s);
  });

  it('has the fields that need its beta flags accepted by a messages upstream', async () => {
    const requests = stage.play('messages', { blocks: [textBlock] });
    const fields = {
      thinking: { type: 'adaptive', display: 'updates', block_binding: { prefix_mismatch_behavior: 'drop_block' } },
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'system', content: 'Be brief.', clear_at: 'next_user_message', output_config: { effort: 'low' } },
      ],
    };
    const response = await send('claude-code-first', 'messages', undefined, undefined, fields);
    expect(response.status).toBe(200);
    await response.text();
    expect(requests()[0]!.body).toMatchObject(fields);
  });

  it('gets a quick answer to its probe', async () => {
    expect((await fetch(`${stage.system.baseUrl}/api/hello`, { method: 'HEAD' })).status).toBe(200);
  });

  it('can list models', async () => {
    const list = (await (await get(stage.system, '/v1/models?limit=1000', stage.system.firstKey)).json()) as {
      data: { id: string; display_name: string }[];
      has_more: boolean;
    };
    expect(list.has_more).toBe(false);
    expect(list.data.map(({ id }) => id)).toEqual(expect.arrayContaining([stage.model('messages'), stage.model('chat-completions')]));
  });
});
