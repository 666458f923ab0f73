import { createServer, type Server } from 'node:http';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Koa from 'koa';
import { listen } from '#kit/testing/local-server.js';
import { compressed } from './compressed.js';

const line = `${'0123456789'.repeat(20)}\n`;

describe('the compression of a route', () => {
  let server: Server;
  let address: string;
  /** Resolves when the client has received the head of a response that fails later. */
  let clientHasHead: Promise<void>;
  beforeAll(async () => {
    const app = new Koa();
    app.on('error', () => undefined);
    const csv = compressed(
      (ctx) => {
        ctx.type = ctx.path === '/json' ? 'application/json' : 'text/csv';
        if (ctx.path === '/short') ctx.body = 'short';
        else if (ctx.path === '/text' || ctx.path === '/json') ctx.body = line.repeat(100);
        else ctx.body = Readable.from(lines(ctx.path === '/failing'));
      },
      (type) => type === 'text/csv',
    );
    app.use(csv);
    server = createServer(app.callback() as never);
    address = `http://127.0.0.1:${await listen(server)}`;
  });
  afterAll(() => void server.close());

  async function* lines(isFailing: boolean): AsyncGenerator<string, void, void> {
    for (let index = 0; index < 100; index += 1) {
      if (isFailing && index === 50) {
        await clientHasHead;
        throw new Error('The database is unavailable.');
      }
      if (index % 10 === 0) await pause(1);
      yield line;
    }
  }
  const read = (path: string, encoding: string) => fetch(address + path, { headers: { 'accept-encoding': encoding } });

  it.each(['gzip', 'br', 'identity'])('sends texts and streams whole as %s', async (encoding) => {
    for (const path of ['/text', '/stream']) {
      const response = await read(path, encoding);
      expect([response.headers.get('content-encoding'), response.headers.get('vary')]).toEqual([
        encoding === 'identity' ? null : encoding,
        'Accept-Encoding',
      ]);
      expect(await response.text()).toBe(line.repeat(100));
    }
  });

  it('leaves other media types and short texts alone', async () => {
    for (const path of ['/json', '/short']) expect((await read(path, 'gzip')).headers.get('content-encoding')).toBeNull();
  });

  it.each(['gzip', 'identity'])('breaks the connection when a stream fails, as %s', async (encoding) => {
    let fail = (): void => undefined;
    clientHasHead = new Promise((resolve) => (fail = resolve));
    const response = await read('/failing', encoding);
    fail();
    await expect(response.text()).rejects.toThrow('terminated');
  });
});
