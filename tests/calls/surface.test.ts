// The HTTP surface apart from the answers: routes, headers, limits, and the error format of each API.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { gzipSync } from 'node:zlib';
import { chat, get, post, readSse } from '../support/clients/calls.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

const messages = [{ role: 'user', content: 'Hello there' }];

describe.each(modes)('the surface, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode, { TOLLGATE_GATEWAY_BODY_BYTES_MAX: '100000' });
  });

  afterAll(() => system?.stop());

  it('sends a request id under both names with every response, including errors and streams', async () => {
    const answers = [
      await chat(system, system.firstKey),
      await chat(system, system.firstKey, { stream: true }),
      await chat(system, 'nonsense'),
      await get(system, '/v1/models', system.firstKey),
      await fetch(`${system.baseUrl}/nowhere`),
      await fetch(`${system.baseUrl}/livez`),
    ];
    for (const answer of answers) {
      await answer.text();
      expect(answer.headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
      expect(answer.headers.get('request-id')).toBe(answer.headers.get('x-request-id'));
    }
    expect(new Set(answers.map((answer) => answer.headers.get('request-id'))).size).toBe(answers.length);
  });

  it('reports the duration of each phase of a call, with the latency that the gateway added separate from the upstream', async () => {
    const phasesOf = (answer: Response): Record<string, number> =>
      Object.fromEntries(
        (answer.headers.get('server-timing') ?? '').split(', ').map((metric) => {
          const [, phase, duration] = /^([a-z]+);dur=(\d+\.\d\d)$/.exec(metric)!;
          return [phase, Number(duration)];
        }),
      );
    const ask = { messages: [{ role: 'user', content: 'delay=100ms tokens=3' }] };
    const beganAtMs = performance.now();
    const whole = await chat(system, system.firstKey, ask);
    const tookMs = performance.now() - beganAtMs;
    const phases = phasesOf(whole);
    expect(Object.keys(phases)).toEqual(['auth', 'hold', 'upstream', 'record']);
    // Three tokens, 100 ms before each; timers may fire a millisecond early.
    expect(phases['upstream']).toBeGreaterThan(250);
    expect(Object.values(phases).reduce((sum, ms) => sum + ms)).toBeLessThan(tookMs);
    const streamed = await chat(system, system.firstKey, { ...ask, stream: true });
    await streamed.text();
    expect(Object.keys(phasesOf(streamed))).toEqual(['auth', 'hold', 'upstream']);
    // Refused calls report it too.
    expect(Object.keys(phasesOf(await chat(system, system.firstKey, { model: 'no/such' })))).toEqual(['auth']);
  });

  it('accepts the key in either header on every route', async () => {
    for (const path of ['/v1/models', '/v1/key']) {
      expect((await fetch(`${system.baseUrl}${path}`, { headers: { 'x-api-key': system.firstKey } })).status).toBe(200);
      expect((await fetch(`${system.baseUrl}${path}`, { headers: { authorization: `Bearer ${system.firstKey}` } })).status).toBe(200);
      expect((await fetch(`${system.baseUrl}${path}`)).status).toBe(401);
    }
    const both = await post(
      system,
      '/v1/messages',
      'some-other-token',
      { model: 'sandbox/echo', max_tokens: 9, messages },
      { headers: { 'x-api-key': system.firstKey } },
    );
    expect(both.status).toBe(200);
  });

  it.each(['provider-version', 'anthropic-version'])('requires %s to be a date if present', async (header) => {
    const call = (value: string): Promise<Response> =>
      post(system, '/v1/messages', system.firstKey, { model: 'sandbox/echo', max_tokens: 9, messages }, { headers: { [header]: value } });
    expect((await call('2023-06-01')).status).toBe(200);
    for (const value of ['yesterday', '2023-13-01', '2023-02-30']) {
      const refused = await call(value);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({
        type: 'error',
        error: { type: 'invalid_request_error', message: expect.stringContaining(header) },
      });
    }
    expect((await post(system, '/v1/messages', system.firstKey, { model: 'sandbox/echo', max_tokens: 9, messages })).status).toBe(200);
  });

  it('works with the base URLs that clients commonly have', async () => {
    const body = { model: 'sandbox/echo', max_tokens: 9, messages };
    for (const path of ['/chat/completions', '/v1/v1/chat/completions', '/messages', '/v1/v1/messages', '/v1/messages?beta=true']) {
      expect((await post(system, path, system.firstKey, body)).status).toBe(200);
    }
    expect((await get(system, '/v1/models/sandbox%2Fecho', system.firstKey)).status).toBe(200);
    expect((await get(system, '/v1/models/sandbox/echo', system.firstKey)).status).toBe(200);
    expect((await fetch(`${system.baseUrl}/api/hello`, { method: 'HEAD' })).status).toBe(200);
  });

  it('distinguishes an unknown path from a wrong method', async () => {
    expect((await get(system, '/v1/nothing', system.firstKey)).status).toBe(404);
    const wrong = await get(system, '/v1/chat/completions', system.firstKey);
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('refuses bodies that are too large, not JSON, not UTF-8 or empty, with an error that says which', async () => {
    const call = (body: string | Uint8Array<ArrayBuffer>): Promise<Response> =>
      post(system, '/v1/chat/completions', system.firstKey, '', { body });
    const large = await call(JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'x'.repeat(200_000) }] }));
    expect(large.status).toBe(413);
    expect(((await large.json()) as { error: { message: string } }).error.message).toContain('100000');
    for (const body of ['{"model":', '', '[1,2', new Uint8Array([0x7b, 0xff, 0xfe, 0x7d])]) {
      const refused = await call(body);
      expect(refused.status).toBe(400);
      expect(((await refused.json()) as { error: { message: string; type: string } }).error.type).toBe('invalid_request_error');
    }
  });

  it('accepts compressed bodies, and limits their decompressed size', async () => {
    const call = (value: unknown): Promise<Response> =>
      post(system, '/v1/chat/completions', system.firstKey, '', {
        body: new Uint8Array(gzipSync(JSON.stringify(value))),
        headers: { 'content-encoding': 'gzip' },
      });
    expect((await call({ model: 'sandbox/echo', messages })).status).toBe(200);
    expect((await call({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'x'.repeat(5_000_000) }] })).status).toBe(413);
  });

  it('streams frames of each format and nothing else', async () => {
    const chatFrames = await readSse(await chat(system, system.firstKey, { stream: true }));
    expect(chatFrames.every((frame) => frame.event === '')).toBe(true);
    expect(chatFrames.at(-1)!.data).toBe('[DONE]');
    expect(chatFrames.some((frame) => (frame.data as { usage?: unknown }).usage)).toBe(false);
    const withUsage = await readSse(await chat(system, system.firstKey, { stream: true, stream_options: { include_usage: true } }));
    expect(withUsage.at(-2)!.data).toMatchObject({ choices: [], usage: { prompt_tokens: expect.any(Number) } });
    const streamed = await post(system, '/v1/messages', system.firstKey, { model: 'sandbox/echo', max_tokens: 9, stream: true, messages });
    expect(streamed.headers.get('content-type')).toMatch(/^text\/event-stream/);
    const names = (await readSse(streamed)).map((frame) => frame.event);
    expect(names[0]).toBe('message_start');
    expect(names.slice(-3)).toEqual(['content_block_stop', 'message_delta', 'message_stop']);
  });

  it('publishes the catalog and the OpenAPI document without a key', async () => {
    const catalog = (await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as { data: { id: string; available: boolean }[] };
    expect(catalog.data.find((model) => model.id === 'sandbox/echo')).toMatchObject({
      available: true,
      max_input_tokens: expect.any(Number),
      usd_per_million_tokens: { input: expect.any(String) },
    });
    expect(catalog.data.some((model) => model.id.startsWith('anthropic/') && !model.available)).toBe(true);
    const openapi = (await (await fetch(`${system.baseUrl}/openapi.json`)).json()) as { openapi: string; paths: Record<string, unknown> };
    expect(openapi.openapi).toMatch(/^3\.1/);
    for (const path of ['/v1/models', '/v1/chat/completions', '/v1/messages', '/v1/messages/count_tokens', '/v1/key', '/v1/catalog'])
      expect(openapi.paths).toHaveProperty([path]);
  });

  it('reports fields that had no effect', async () => {
    const response = await chat(system, system.firstKey, { store: true, metadata: { a: 'b' } });
    expect(response.status).toBe(200);
    expect(response.headers.get('x-tollgate-dropped-params')).toContain('store');
  });
});
