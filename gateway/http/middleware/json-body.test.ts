// Bodies of requests, read from real connections.
import { once } from 'node:events';
import { type ClientRequest, createServer, request } from 'node:http';
import { connect } from 'node:net';
import { json } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import Koa, { type Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { untilTrue } from '#kit/testing/waiting.js';
import { listen } from '#kit/testing/local-server.js';
import { beginState } from '../request-state.js';
import { readBytes, readJsonBody } from './json-body.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

it('do not stay in memory while the response is open', async () => {
  const chunks: WeakRef<Buffer>[] = [];
  const app = new Koa();
  app.use(async (ctx) => {
    beginState(ctx, {} as never);
    ctx.req.on('data', (chunk: Buffer) => void chunks.push(new WeakRef(chunk)));
    const { whole } = await readJsonBody(ctx, 1e6);
    await sleep(10);
    collect();
    ctx.body = { characters: whole.length, kept: chunks.filter((each) => each.deref() !== undefined).length };
  });
  const server = createServer(app.callback());
  const sent = request({ port: await listen(server), method: 'POST' });
  sent.end(JSON.stringify({ prompt: 'a'.repeat(200_000) }));
  const [response] = await once(sent, 'response');
  const answer = await json(response);
  server.close();
  expect(chunks.length).toBeGreaterThan(1);
  expect(answer).toEqual({ characters: 200_013, kept: 0 });
});

async function serve(handle: (ctx: Context) => Promise<void>, state: object = {}): Promise<{ port: number; close(): void }> {
  const app = new Koa();
  app.silent = true;
  app.use(async (ctx) => {
    beginState(ctx, state as never);
    await handle(ctx);
  });
  const server = createServer(app.callback());
  return { port: await listen(server), close: () => server.close() };
}

it('are given up if their client disconnected before they were read, also compressed ones', async () => {
  const headers = { 'content-encoding': 'gzip', 'content-length': 100 };
  let sent: ClientRequest | undefined;
  const failed = new Promise<unknown>((resolve, reject) => {
    void serve(async (ctx) => {
      sent!.destroy();
      await untilTrue(() => ctx.req.closed);
      readJsonBody(ctx, 1e6).then(reject, resolve);
    }).then(({ port, close }) => {
      sent = request({ port, method: 'POST', headers }).on('error', close);
      sent.write('x');
    });
  });
  expect(await Promise.race([failed, sleep(1000)])).toMatchObject({ reason: 'invalid_request' });
});

it.each([
  ['plain', {}],
  ['compressed', { 'content-encoding': 'gzip' }],
])('are given up, and no longer counted, if their client disconnects while they are read: %s', async (_what, headers) => {
  const counted = { bodies: 0, bytes: 0 };
  const bodies = {
    begin() {
      counted.bodies += 1;
      let isOpen = true;
      return {
        add: (bytes: number) => void (counted.bytes += bytes),
        end() {
          if (isOpen) counted.bodies -= 1;
          isOpen = false;
        },
      };
    },
  };
  let failure: unknown;
  const { port, close } = await serve(async (ctx) => void (failure = await readJsonBody(ctx, 1e6).catch((error: unknown) => error)), {
    bodies,
  });
  const body = JSON.stringify({ prompt: 'x'.repeat(100_000) });
  const sent = request({ port, method: 'POST', headers: { ...headers, 'content-length': 1e6 } }).on('error', () => undefined);
  sent.write('content-encoding' in headers ? gzipSync(body, { level: 0 }).subarray(0, 90_000) : body);
  await untilTrue(() => counted.bytes > 50_000);
  expect([counted.bodies, failure]).toEqual([1, undefined]);
  sent.destroy();
  await untilTrue(() => failure !== undefined);
  expect(failure).toMatchObject({ reason: 'invalid_request' });
  await untilTrue(() => counted.bodies === 0);
  expect(counted.bodies).toBe(0);
  close();
});

it.each([
  ['a whole body', '{"a":1}', 100, { a: 1 }],
  ['a body that is too large', `{"a":"${'x'.repeat(100)}"}`, 100, 'body_too_large'],
])('are counted only while they are read: %s', async (_what, body, bytesMax, expected) => {
  let open = 0;
  const bodies = { begin: () => (open += 1) && { add: () => undefined, end: () => void (open = 0) } };
  let read: unknown;
  const { port, close } = await serve(
    async (ctx) => {
      read = await readJsonBody(ctx, bytesMax).then(
        ({ value }) => value,
        ({ reason }: { reason: string }) => reason,
      );
      ctx.body = 'read';
    },
    { bodies },
  );
  const sent = request({ port, method: 'POST', headers: { 'transfer-encoding': 'chunked' } });
  sent.write(body);
  sent.end();
  const [response] = await once(sent, 'response');
  response.resume();
  expect([read, open]).toEqual([expected, 0]);
  close();
});

it('are refused by their declared length, before they arrive', async () => {
  let failure: unknown;
  const { port, close } = await serve(async (ctx) => void (failure = await readJsonBody(ctx, 100).catch((error: unknown) => error)));
  const sent = request({ port, method: 'POST', headers: { 'content-length': 101 } }).on('error', () => undefined);
  sent.flushHeaders();
  await untilTrue(() => failure !== undefined);
  expect(failure).toMatchObject({ reason: 'body_too_large', details: { limit_bytes: '100' } });
  sent.destroy();
  close();
});

it('are refused when they take too much memory', async () => {
  const bodies = {
    begin: () => ({
      add() {
        throw new AppError('overloaded', 'No room.');
      },
      end: () => undefined,
    }),
  };
  let failure: unknown;
  const { port, close } = await serve(
    async (ctx) => {
      failure = await readJsonBody(ctx, 1e6).catch((error: unknown) => error);
      ctx.body = 'refused';
    },
    { bodies },
  );
  const sent = request({ port, method: 'POST' });
  sent.end('{}');
  const [response] = await once(sent, 'response');
  response.resume();
  expect(failure).toMatchObject({ reason: 'overloaded' });
  // The rest of the body is not read, so the connection cannot be used again.
  expect(response.headers.connection).toBe('close');
  close();
});

it('of an unknown content encoding are dropped, so that a client that sends all of it first gets the error', async () => {
  const bytes = 32 * 1024 * 1024;
  const { port, close } = await serve(async (ctx) => {
    ctx.body = await readJsonBody(ctx, bytes).catch(String);
  });
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk))).on('error', () => undefined);
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-encoding: zstd\r\ncontent-length: ${bytes}\r\n\r\n`);
  await untilTrue(() => received.includes('"zstd" is not supported'));
  const failed = await new Promise((resolve) => socket.write(Buffer.alloc(bytes), resolve));
  expect([failed ?? undefined, received]).toEqual([undefined, expect.stringContaining('"zstd" is not supported')]);
  socket.destroy();
  close();
});

it('of payment events that are too large leave their connection usable', async () => {
  const { port, close } = await serve(async (ctx) => {
    ctx.body = ctx.method === 'GET' ? 'next' : await readBytes(ctx, 1000).catch(String);
  });
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk)));
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n100000\r\n${'x'.repeat(0x100000)}\r\n0\r\n\r\n`);
  await untilTrue(() => received.includes('larger than 1000 bytes'));
  socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await untilTrue(() => received.includes('next'));
  expect(received).toContain('next');
  socket.destroy();
  close();
});

it('keep the digits of large numbers in nested values, with the texts of their fields', async () => {
  const input = '{"channel_id":1199137541837586493,"padding":"' + 'a'.repeat(5000) + '"}';
  const app = new Koa();
  app.use(async (ctx) => {
    beginState(ctx, {} as never);
    const { value, text } = await readJsonBody(ctx, 1e6);
    const { seed, messages } = value as { seed: unknown; messages: { input: unknown }[] };
    ctx.body = { seed, input: JSON.stringify(messages[0]!.input), texts: text?.lists.get('messages')?.length };
  });
  const server = createServer(app.callback());
  const sent = request({ port: await listen(server), method: 'POST' });
  sent.end(`{"seed":9007199254740993,"messages":[{"input":${input}}]}`);
  const [response] = await once(sent, 'response');
  const answer = await json(response);
  server.close();
  expect(answer).toEqual({ seed: 9_007_199_254_740_992, input, texts: 1 });
});
