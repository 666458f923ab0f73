// What callers of the messages format may send: it reaches a model behind upstreams of either format, or is refused before any upstream is called.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStage, type Stage } from '../clients/stage.js';
import { post } from '../support/clients/calls.js';
import { addModel } from '../support/stub-models.js';

const fixtures = join(import.meta.dirname, '../../gateway/formats/fixtures/messages');
const bodies = readdirSync(fixtures)
  .filter((name) => name.endsWith('.json'))
  .map((name): [string, Record<string, unknown>] => [
    name.replace('.json', ''),
    JSON.parse(readFileSync(join(fixtures, name), 'utf8')) as Record<string, unknown>,
  ]);

const png = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } };
const betas = 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,structured-outputs-2025-11-13';

describe('a messages request', () => {
  let stage: Stage;

  /** Sends a POST to a route of the format, for the model behind an upstream. */
  const send = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    post(stage.system, path, stage.system.firstKey, body, { headers: { 'anthropic-version': '2023-06-01', ...headers } });

  beforeAll(async () => {
    stage = await startStage();
    const seeing = { context_limit_tokens: 200_000, output_limit_tokens: 128_000, input_modalities: ['text', 'image', 'document'] };
    await addModel(stage.system, 'messages/seeing', 'messages', 'messages', seeing);
    await addModel(stage.system, 'chat-completions/seeing', 'openai', 'chat-completions', seeing);
    await addModel(stage.system, 'messages/blind', 'messages', 'messages');
  });

  afterAll(() => stage?.stop());

  it.each(bodies)('as sent by %s is answered behind an upstream of its format', async (_name, body) => {
    const requests = stage.play('messages', { blocks: [{ type: 'text', text: 'Fine.' }] });
    const response = await send('/v1/messages?beta=true', { ...body, model: 'messages/seeing' }, { 'anthropic-beta': betas });
    expect([response.status, stage.stub.takeRefused()]).toEqual([200, []]);
    await response.text();
    const { model: _model, stream: _stream, max_tokens: _max, metadata: _metadata, ...rest } = body;
    expect(requests()).toEqual([
      expect.objectContaining({ headers: expect.objectContaining({ 'anthropic-beta': betas, 'anthropic-version': '2023-06-01' }) }),
    ]);
    expect(requests()[0]!.body).toMatchObject(rest);
  });

  it.each(bodies.filter(([name]) => name !== 'anthropic-sdk-media'))(
    'as sent by %s is answered behind an upstream of the other format',
    async (_name, body) => {
      stage.play('chat-completions', { blocks: [{ type: 'text', text: 'Fine.' }] });
      const response = await send('/v1/messages?beta=true', { ...body, model: 'chat-completions/seeing' }, { 'anthropic-beta': betas });
      expect([response.status, stage.stub.takeRefused()]).toEqual([200, []]);
      await response.text();
    },
  );

  it.each(bodies)('as sent by %s is counted as it would be sent', async (_name, body) => {
    const { max_tokens: _max, stream: _stream, metadata: _metadata, ...counted } = body;
    const requests = stage.play('messages', { count: 4321 });
    const response = await send(
      '/v1/messages/count_tokens?beta=true',
      { ...counted, model: 'messages/seeing' },
      { 'anthropic-beta': betas },
    );
    expect([response.status, await response.json(), stage.stub.takeRefused()]).toEqual([200, { input_tokens: 4321 }, []]);
    expect(response.headers.get('x-tollgate-estimated')).toBeNull();
    const { model: _model, temperature: _temperature, ...rest } = counted;
    expect(requests()[0]!.body).toMatchObject(rest);
  });

  it.each(['/v1/messages', '/v1/messages/count_tokens'])(
    'with an image for a model that reads only text is refused by %s, without calling an upstream',
    async (path) => {
      const requests = stage.play('messages', {});
      const response = await send(path, { model: 'messages/blind', max_tokens: 9, messages: [{ role: 'user', content: [png] }] });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { message: expect.stringContaining('messages.0.content.0: the model "messages/blind" does not read images') },
      });
      expect(requests()).toEqual([]);
    },
  );

  it('with a document by url is refused with the name of the field if the upstream supports none', async () => {
    const requests = stage.play('chat-completions', {});
    const source = { type: 'url', url: 'https://example.com/a.pdf' };
    const response = await send('/v1/messages', {
      model: 'chat-completions/seeing',
      max_tokens: 9,
      messages: [{ role: 'user', content: [{ type: 'document', source }] }],
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('messages.0.content.0.source.type: ') } });
    expect(requests()).toEqual([]);
  });

  it('reports dropped flags that cost more than tokens, and counts as another request if its flags differ', async () => {
    stage.play('messages', { blocks: [{ type: 'text', text: 'Fine.' }] });
    const body = { model: stage.model('messages'), max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
    const keyed = (flags: string): Promise<Response> =>
      send('/v1/messages', body, { 'anthropic-beta': flags, 'idempotency-key': 'flags-1' });
    const first = await keyed('context-1m-2025-08-07,effort-2025-11-24');
    expect([first.status, first.headers.get('x-tollgate-dropped-params')]).toEqual([200, 'anthropic-beta.context-1m-2025-08-07']);
    await first.text();
    expect((await keyed('context-1m-2025-08-07,effort-2025-11-24')).headers.get('idempotency-replayed')).toBe('true');
    expect((await keyed('effort-2025-11-24,claude-code-20250219')).status).toBe(422);
  });

  it.each([false, true])('reports dropped flags if the upstream rejects it, stream %s', async (stream) => {
    stage.play('messages', { fault: { kind: 'status', status: 400, body: {} } });
    const body = { model: stage.model('messages'), max_tokens: 9, stream, messages: [{ role: 'user', content: 'hi' }] };
    const response = await send('/v1/messages', body, { 'anthropic-beta': 'context-1m-2025-08-07,effort-2025-11-24' });
    expect([response.status, response.headers.get('x-tollgate-dropped-params')]).toEqual([400, 'anthropic-beta.context-1m-2025-08-07']);
    await response.text();
  });

  it.each(['2023-06-01', '2026-10-21'])(
    'of version %s reaches its upstream in that version, with sampling only if the version has it',
    async (version) => {
      const requests = stage.play('messages', { blocks: [{ type: 'text', text: 'Fine.' }] });
      const body = { model: stage.model('messages'), max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
      expect((await send('/v1/messages', body, { 'anthropic-version': version })).status).toBe(200);
      expect(requests()[0]!.headers['anthropic-version']).toBe(version);
      const sampled = await send('/v1/messages', { ...body, temperature: 0.5 }, { 'anthropic-version': version });
      expect(sampled.status).toBe(version === '2023-06-01' ? 200 : 400);
      expect(requests()).toHaveLength(version === '2023-06-01' ? 2 : 1);
    },
  );

  it('may write to the cache without generating output, at upstreams of its format only', async () => {
    const requests = stage.play('messages', { blocks: [], usage: { input: 7, cacheWrite5m: 2000, output: 0 } });
    const messages = [{ role: 'user', content: [{ type: 'text', text: 'word '.repeat(500), cache_control: { type: 'ephemeral' } }] }];
    const response = await send('/v1/messages', { model: stage.model('messages'), max_tokens: 0, messages });
    expect([response.status, stage.stub.takeRefused()]).toEqual([200, []]);
    expect(requests()[0]!.body).toMatchObject({ max_tokens: 0, messages });
    expect(await response.json()).toMatchObject({
      content: [],
      usage: { input_tokens: 7, output_tokens: 0, cache_creation_input_tokens: 2000 },
    });
    // 7 tokens at $1 and 2000 at $1.25 per million.
    expect(await stage.charge(response.headers.get('x-request-id'))).toMatchObject({
      charge_usd: '0.002507',
      tokens: { input: 7, cache_write_5m: 2000, output: 0 },
    });
    const refused = await send('/v1/messages', { model: stage.model('chat-completions'), max_tokens: 0, messages });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ error: expect.objectContaining({ message: expect.stringContaining('max_tokens') }) }),
    ]);
  });

  it('with results in separate messages, or with call ids of other vendors, is changed to a form that its upstream accepts', async () => {
    const requests = stage.play('messages', { blocks: [{ type: 'text', text: 'Fine.' }] });
    const use = (id: string): object => ({ type: 'tool_use', id, name: 'f', input: {} });
    const result = (id: string): object => ({ role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'ok' }] });
    const calls = {
      role: 'assistant',
      content: [{ type: 'thinking', thinking: 'hm', signature: '' }, use('functions.f:0'), use('toolu_2')],
    };
    const messages = [
      { role: 'user', content: 'hi' },
      calls,
      result('functions.f:0'),
      { role: 'system', content: 'Be brief.' },
      result('toolu_2'),
    ];
    const response = await send('/v1/messages', {
      model: stage.model('messages'),
      max_tokens: 9,
      messages,
      tools: [{ name: 'f', input_schema: { type: 'object' } }],
    });
    expect([response.status, stage.stub.takeRefused()]).toEqual([200, []]);
    const roles = (requests()[0]!.body['messages'] as { role: string }[]).map(({ role }) => role);
    expect(roles).toEqual(['user', 'assistant', 'user', 'system']);
  });

  it('with a tool of unknown type reaches only upstreams of its format; an unknown field reaches none', async () => {
    const requests = stage.play('messages', { blocks: [{ type: 'text', text: 'Fine.' }] });
    const body = { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }], future_field: { a: [null, 1] } };
    const own = await send('/v1/messages', { ...body, model: stage.model('messages') });
    expect([own.status, own.headers.get('x-tollgate-dropped-params')]).toEqual([200, 'future_field']);
    expect(requests()[0]!.body).not.toHaveProperty('future_field');
    stage.play('chat-completions', { blocks: [{ type: 'text', text: 'Fine.' }] });
    const elsewhere = await send('/v1/messages', { ...body, model: stage.model('chat-completions') });
    expect([elsewhere.status, elsewhere.headers.get('x-tollgate-dropped-params')]).toEqual([200, expect.stringContaining('future_field')]);
    const tool = { type: 'bash_20250124', name: 'bash' };
    expect((await send('/v1/messages', { ...body, model: stage.model('messages'), tools: [tool] })).status).toBe(200);
    const refused = await send('/v1/messages', { ...body, model: stage.model('chat-completions'), tools: [tool] });
    expect([refused.status, await refused.json()]).toEqual([
      400,
      expect.objectContaining({ error: expect.objectContaining({ message: expect.stringContaining('tools.0.type') }) }),
    ]);
  });
});
