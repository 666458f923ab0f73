// Bodies of requests, read from real connections.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import Koa from 'koa';
import { beginState } from '../request-state.js';
import { readJsonBody } from './json-body.js';

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
  const server = createServer(app.callback()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const sent = request({ port: (server.address() as AddressInfo).port, method: 'POST' });
  sent.end(JSON.stringify({ prompt: 'a'.repeat(200_000) }));
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const part of response) text += String(part);
  server.close();
  expect(chunks.length).toBeGreaterThan(1);
  expect(JSON.parse(text)).toEqual({ characters: 200_013, kept: 0 });
});
