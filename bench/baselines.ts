// The relays that Tollgate is compared with, which have no keys, money or formats. Run as `baselines.ts <kind> <port of the upstream>`.
import { Agent, createServer, request as send, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import Koa from 'koa';
import { Pool } from 'undici';

/**
 * The relays: `raw` pipes both ways through plain Node and is what every ratio refers to; `koa` is Koa with undici; `json` is `raw`, but parses
 * and serializes every event of a stream.
 */
export type Relay = 'raw' | 'koa' | 'json';

const [kind, portText] = process.argv.slice(2) as [Relay, string];
const port = Number(portText);
const agent = new Agent({ keepAlive: true });

function relay(request: IncomingMessage, response: ServerResponse, pass: (from: IncomingMessage, to: ServerResponse) => void): void {
  const length = request.headers['content-length'];
  const headers = { 'content-type': 'application/json', ...(length === undefined ? {} : { 'content-length': length }) };
  const upstream = send({ port, host: '127.0.0.1', path: request.url, method: 'POST', agent, headers }, (answer) => {
    response.writeHead(answer.statusCode!, { 'content-type': answer.headers['content-type'] });
    pass(answer, response);
  });
  request.pipe(upstream);
}

/** Parses and serializes every complete frame; buffers an incomplete one. */
function reserialize(from: IncomingMessage, to: ServerResponse): void {
  let rest = '';
  from.setEncoding('utf8');
  from.on('data', (chunk: string) => {
    const frames = (rest + chunk).split('\n\n');
    rest = frames.pop()!;
    let text = '';
    for (const frame of frames) {
      const start = frame.indexOf('data: ') + 'data: '.length;
      const data = frame.slice(start);
      text += data === '[DONE]' ? 'data: [DONE]\n\n' : `${frame.slice(0, start)}${JSON.stringify(JSON.parse(data))}\n\n`;
    }
    if (text !== '') to.write(text);
  });
  from.on('end', () => to.end());
}

function koaRelay(): RequestListener {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: null, pipelining: 1 });
  const app = new Koa();
  app.use(async (ctx) => {
    const chunks: Buffer[] = [];
    for await (const chunk of ctx.req) chunks.push(chunk as Buffer);
    const headers = { 'content-type': 'application/json' };
    const answer = await pool.request({ method: 'POST', path: ctx.path, headers, body: Buffer.concat(chunks) });
    ctx.status = answer.statusCode;
    const type = String(answer.headers['content-type']);
    const isStream = type.startsWith('text/event-stream');
    ctx.body = isStream ? Readable.from(answer.body, { objectMode: false }) : await answer.body.text();
    ctx.set('content-type', type);
  });
  return app.callback();
}

const listeners: Record<Relay, () => RequestListener> = {
  raw: () => (request, response) => relay(request, response, (from, to) => void from.pipe(to)),
  koa: koaRelay,
  json: () => (request, response) => relay(request, response, reserialize),
};

const server = createServer({ noDelay: true }, listeners[kind]());
server.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify(server.address())}\n`));
