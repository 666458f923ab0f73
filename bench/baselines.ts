// The relays that Tollgate is compared with, which have no keys, money or formats. Run as `baselines.ts <kind> <upstream url>`.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import Koa from 'koa';
import { type Dispatcher, Pool } from 'undici';

/** The relays: bytes over plain Node, bytes over Koa, the raw bytes of a stream, and a stream that is parsed and serialized again. */
export type Relay = 'node' | 'koa' | 'sse-bytes' | 'sse-json';

const [kind, upstreamUrl] = process.argv.slice(2) as [Relay, string];
const { origin, pathname } = new URL(upstreamUrl);
const pool = new Pool(origin, { connections: 64, pipelining: 1 });

async function ask(request: IncomingMessage): Promise<Dispatcher.ResponseData> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return pool.request({ method: 'POST', path: pathname, headers: { 'content-type': 'application/json' }, body: Buffer.concat(chunks) });
}

async function relayWhole(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answer = await ask(request);
  const body = await answer.body.text();
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
  response.end(body);
}

async function relayStream(request: IncomingMessage, response: ServerResponse, change: (chunk: Buffer) => Buffer | string): Promise<void> {
  const answer = await ask(request);
  response.writeHead(answer.statusCode, { 'content-type': String(answer.headers['content-type']) });
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    const changed = change(chunk);
    if (changed.length > 0 && !response.write(changed)) await once(response, 'drain');
  }
  response.end();
}

/** Parses and serializes every complete frame; buffers an incomplete one. */
function reserialise(): (chunk: Buffer) => string {
  let rest = '';
  return (chunk) => {
    const frames = (rest + chunk.toString('utf8')).split('\n\n');
    rest = frames.pop()!;
    let text = '';
    for (const frame of frames) {
      const start = frame.indexOf('data: ') + 'data: '.length;
      const data = frame.slice(start);
      text += data === '[DONE]' ? 'data: [DONE]\n\n' : `${frame.slice(0, start)}${JSON.stringify(JSON.parse(data))}\n\n`;
    }
    return text;
  };
}

function koaRelay(): RequestListener {
  const app = new Koa();
  app.use(async (ctx) => {
    const answer = await ask(ctx.req);
    ctx.status = answer.statusCode;
    ctx.type = String(answer.headers['content-type']);
    ctx.body = await answer.body.text();
  });
  return app.callback();
}

const listeners: Record<Relay, () => RequestListener> = {
  node: () => (request, response) => void relayWhole(request, response),
  koa: koaRelay,
  'sse-bytes': () => (request, response) => void relayStream(request, response, (chunk) => chunk),
  'sse-json': () => (request, response) => void relayStream(request, response, reserialise()),
};

const server = createServer({ noDelay: true }, listeners[kind]());
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
