// Clients that break rules or connections: whatever they do, the gateway responds clearly, frees their memory, and can be stopped.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { chat, post, readSse } from '../support/clients/calls.js';
import { startKeepAlive } from '../support/clients/keep-alive.js';
import { eventually } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

interface Refusal {
  error: { message: string; reason: string };
}

/** The bytes that one account may send at the same time. */
const bodiesBytesMax = 64 * 1024 * 1024;

let system: System;

beforeAll(async () => {
  system = await startSystem('single', {
    // A busy machine needs more than a second for the calls that are made during this time.
    TOLLGATE_LAME_DUCK: '4s',
    TOLLGATE_GATEWAY_CONNECTIONS_MAX: '50',
    TOLLGATE_GATEWAY_BODIES_BYTES_PER_ACCOUNT_MAX: String(bodiesBytesMax),
    TOLLGATE_GATEWAY_COUNTS_PER_MINUTE_MAX: '20',
  });
});

afterAll(() => system?.stop());

/** A separate connection, and what it received. */
async function dial(text = ''): Promise<{ socket: Socket; received(): string }> {
  const socket = connect(Number(new URL(system.baseUrl).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += chunk.toString('latin1')));
  socket.on('error', () => undefined);
  await new Promise<void>((resolve) => socket.once('connect', () => resolve()));
  socket.write(text);
  return { socket, received: () => received };
}

/** The head of a call whose body is compressed. */
function packedHead(contentLength: number): string {
  return `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${system.firstKey}\r\ncontent-encoding: gzip\r\ncontent-length: ${contentLength}\r\n\r\n`;
}

/** The log lines of requests to this route. */
function requestsTo(route: string): { status: number }[] {
  const lines = system
    .output()
    .split('\n')
    .filter((line) => line.includes('"msg":"request"') && line.includes(`"route":"${route}"`));
  return lines.map((line) => JSON.parse(line) as { status: number });
}

describe('bodies', () => {
  it('that are sent almost completely take bounded memory, which is freed within seconds', async () => {
    // Created before the connections: an upload that stands still while this process fills its buffers is refused as too slow.
    const sent = Buffer.alloc(30 * 1024 * 1024, 'x');
    const head = `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${system.firstKey}\r\ncontent-length: ${32 * 1024 * 1024}\r\n\r\n`;
    const before = requestsTo('/v1/messages').length;
    const callers = await Promise.all(Array.from({ length: 30 }, () => dial(head)));
    const peakBytes = (): number => Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${system.pid()}/status`, 'utf8'))![1]) * 1024;
    const peakBefore = peakBytes();
    for (const { socket } of callers) socket.write(sent);
    const ended = await eventually(() => {
      const requests = requestsTo('/v1/messages').slice(before);
      return requests.length === callers.length ? requests : undefined;
    }, 30_000);
    // Bodies for which there is no room are refused immediately. The others are refused when they have sent nothing for some seconds, which makes room.
    const slow = ended.filter(({ status }) => status === 408);
    expect(slow.length).toBeGreaterThan(0);
    const refused = ended.filter(({ status }) => status === 529);
    expect(refused.length).toBeGreaterThan(0);
    expect(slow.length + refused.length).toBe(callers.length);
    // All of them together are 900 MB.
    expect(peakBytes() - peakBefore).toBeLessThan(450 * 1024 * 1024);
    await eventually(() => (callers.every(({ socket }) => socket.destroyed || socket.readableEnded) ? true : undefined), 5000);
    // Their memory is free again.
    expect((await chat(system, system.firstKey, { messages: [{ role: 'user', content: 'x'.repeat(100_000) }] })).status).toBe(200);
  });

  it('that stop before their end get an error in the format of the caller', async () => {
    const { socket, received } = await dial(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${system.firstKey}\r\ncontent-length: 100\r\n\r\n{"model"`,
    );
    await eventually(() => (received().includes('\r\n\r\n') ? true : undefined), 15_000);
    expect(received()).toMatch(/^HTTP\/1\.1 408 /);
    expect(received()).toContain('upload_too_slow');
    socket.destroy();
  });

  it('are given up when a client disconnects in the middle of a compressed one', async () => {
    const before = requestsTo('/v1/messages').length;
    const body = gzipSync(JSON.stringify({ model: 'sandbox/echo' }));
    const { socket } = await dial(packedHead(body.length));
    socket.write(body.subarray(0, body.length / 2));
    await sleep(50);
    socket.destroy();
    const requests = await eventually(() => (requestsTo('/v1/messages').length > before ? requestsTo('/v1/messages') : undefined), 5000);
    expect(requests.at(-1)?.status).toBe(499);
  });

  it('that cannot be decompressed end their connection, because the next request on it would wait forever', async () => {
    const { socket, received } = await dial(packedHead(300_000));
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write('not compressed');
    await eventually(() => (received().includes('\r\n\r\n') ? true : undefined), 5000);
    expect(received()).toMatch(/^HTTP\/1\.1 400 /);
    expect(received().toLowerCase()).toContain('connection: close');
    await closed;
  });

  it('that are too large are read to their end, so that a client that sends all of it first gets the error', async () => {
    const bytes = 40 * 1024 * 1024;
    const { socket, received } = await dial(
      `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${system.firstKey}\r\ncontent-length: ${bytes}\r\n\r\n`,
    );
    await eventually(() => (received().includes('request_too_large') ? true : undefined), 5000);
    expect(received()).toMatch(/^HTTP\/1\.1 413 /);
    await new Promise<void>((resolve, reject) => socket.write(Buffer.alloc(bytes, 'x'), (error) => (error ? reject(error) : resolve())));
    socket.write('GET /livez HTTP/1.1\r\nhost: x\r\n\r\n');
    await eventually(() => (received().includes('"status":"ok"') ? true : undefined), 5000);
    socket.destroy();
  });

  it.each([
    [
      '/v1/chat/completions',
      (deep: string) =>
        `{"model":"sandbox/echo","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"a":${deep}}}}]}`,
    ],
    ['/v1/chat/completions', (deep: string) => `{"model":"sandbox/echo","messages":[{"role":${deep},"content":"x"}]}`],
    [
      '/v1/messages',
      (deep: string) =>
        `{"model":"sandbox/echo","max_tokens":9,"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object","a":${deep}}}]}`,
    ],
  ])('that are nested too deeply are refused with that reason: %s', async (path, body) => {
    const levels = 200_000;
    const refused = await post(system, path, system.firstKey, body('['.repeat(levels) + ']'.repeat(levels)));
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as Refusal).error.message).toContain('nested');
  });

  it('that cannot fit the context of the model are refused by their size', async () => {
    const refused = await chat(system, system.firstKey, { messages: [{ role: 'user', content: 'x '.repeat(3_000_000) }] });
    expect(refused.status).toBe(400);
    expect(((await refused.json()) as Refusal).error).toMatchObject({
      reason: 'context_length_exceeded',
      message: expect.stringContaining('32768 tokens'),
    });
  });

  it('are not quoted in errors', async () => {
    const messages = [{ role: 'tool', tool_call_id: 'x'.repeat(100_000), content: 'x' }];
    const refused = await chat(system, system.firstKey, { messages });
    expect(refused.status).toBe(400);
    expect((await refused.text()).length).toBeLessThan(2000);
  });
});

describe('requests', () => {
  it('with two Host headers are refused, because proxies differ in which one they read', async () => {
    const { socket, received } = await dial('GET /v1/catalog HTTP/1.1\r\nhost: a\r\nHost: b\r\n\r\n');
    await eventually(() => (received().includes('\r\n\r\n') ? true : undefined), 5000);
    expect(received()).toMatch(/^HTTP\/1\.1 400 /);
    expect(received()).toContain('several Host headers');
    socket.destroy();
  });

  it('to count tokens, which are free, are limited per key', async () => {
    const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] };
    const count = async (): Promise<Response> => post(system, '/v1/messages/count_tokens', system.firstKey, body);
    const answers = await Promise.all(Array.from({ length: 25 }, count));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(4);
    expect(refused[0]!.status).toBe(429);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  it.each(['http://[::zz/v1/models', '*'])('to an invalid address get a 404: %s', async (address) => {
    const { socket, received } = await dial(`GET ${address} HTTP/1.1\r\nhost: x\r\naccept: text/html\r\n\r\n`);
    await eventually(() => (received().includes('\r\n\r\n') ? true : undefined), 5000);
    expect(received()).toMatch(/^HTTP\/1\.1 404 /);
    expect(received().toLowerCase()).toContain('x-request-id: req_');
    socket.destroy();
  });

  it('that are broken off during their answer are not logged as errors', async () => {
    const linesOf = (): string[] => system.output().split('\n');
    const before = new Set(linesOf());
    for (let call = 0; call < 5; call += 1) {
      const left = new AbortController();
      await chat(
        system,
        system.firstKey,
        { model: 'sandbox/story', stream: true, messages: [{ role: 'user', content: 'delay=5ms' }] },
        { signal: left.signal },
      );
      left.abort();
    }
    await eventually(async () =>
      (await system.json<{ held_nano_usd: string }>('balance', 'show')).held_nano_usd === '0' ? true : undefined,
    );
    // A line may wait for others for a quarter of a second before it is written.
    const logged = await eventually(() => {
      const lines = linesOf().filter((line) => !before.has(line));
      return lines.filter((line) => line.includes('"msg":"request"')).length >= 5 ? lines : undefined;
    });
    expect(logged.filter((line) => /"level":"(warn|error)"/.test(line))).toEqual([]);
  });
});

describe('connections', () => {
  it('are closed immediately beyond the limit, and served again when others have ended', async () => {
    const dialled = await Promise.all(Array.from({ length: 60 }, () => dial()));
    const closed = await eventually(() => {
      const gone = dialled.filter(({ socket }) => socket.readableEnded || socket.destroyed);
      return gone.length >= 10 ? gone : undefined;
    }, 5000);
    expect(closed.length).toBeLessThan(60);
    for (const { socket } of dialled) socket.destroy();
    await eventually(async () => ((await fetch(`${system.baseUrl}/livez`)).ok ? true : undefined), 5000);
  });
});

describe('a stop', () => {
  it('is first reported to probes while calls are still served, and lets calls in flight end', async () => {
    const slow = { model: 'sandbox/story', stream: true, messages: [{ role: 'user', content: 'delay=50ms tokens=120' }] };
    const answer = await chat(system, system.firstKey, slow);
    const ended = system.end();
    const probe = await eventually(async () => {
      const response = await fetch(`${system.baseUrl}/readyz`);
      return response.status === 503 ? response : undefined;
    });
    expect(await probe.json()).toEqual({ status: 'draining' });
    expect((await chat(system, system.firstKey)).status).toBe(200);
    expect((await readSse(answer)).at(-1)?.data).toBe('[DONE]');
    expect(await ended).toBe(0);
    await system.start();
  });

  it('ends each reused connection with an answer that announces it', async () => {
    const connections = 8;
    const load = startKeepAlive({ baseUrl: system.baseUrl, key: system.firstKey, connections, untilClosed: true });
    await sleep(500);
    expect(await system.end()).toBe(0);
    expect(await load.stop()).toMatchObject({ failed: [], closed: connections });
    await system.start();
  });

  it('is not delayed by idle connections', async () => {
    const silent = await dial();
    const halfway = await dial('GET /livez HTTP/1.1\r\nhost:');
    const beganAtMs = Date.now();
    expect(await system.end()).toBe(0);
    // Calls in flight would delay it by 20 seconds.
    expect(Date.now() - beganAtMs).toBeLessThan(15_000);
    for (const { socket } of [silent, halfway]) socket.destroy();
    await system.start();
  });
});
