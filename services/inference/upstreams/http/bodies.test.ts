import { createServer, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createGzip, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { close, listen } from '#kit/testing/local-server.js';
import {
  collect,
  eventsOf,
  finishedOf,
  localUpstream,
  startInference,
  summary,
  type TestInference,
  textRequest,
} from '../../testing/fixtures.js';

const usage = { prompt_tokens: 3, completion_tokens: 2 };
const frames = [
  { choices: [{ index: 0, delta: { role: 'assistant', content: 'Grüße' } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  { choices: [], usage },
].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
const stream = `${frames.join('')}data: [DONE]\n\n`;
const whole = JSON.stringify({
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Grüße' }, finish_reason: 'stop' }],
  usage,
});
const sse = { 'content-type': 'text/event-stream' };

/** What the server does, by the requested model; a request for its list names none. */
const answers: Record<string, (response: ServerResponse) => void> = {
  gzip: (response) => response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(gzipSync(stream)),
  'gzip-cut': (response) => response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(gzipSync(stream).subarray(0, 40)),
  'gzip-lie': (response) => response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(stream),
  'gzip-flushed': (response) => {
    const gzip = createGzip();
    gzip.pipe(response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }));
    gzip.write(frames[0]!);
    gzip.flush(() => setTimeout(() => gzip.end(frames.slice(1).join('')), 100));
  },
  'gzip-error': (response) =>
    response
      .writeHead(400, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
      .end(gzipSync('{"error":{"message":"bad value"}}')),
  'error-endless': (response) => {
    response.writeHead(500, { 'content-type': 'text/plain' });
    const timer = setInterval(() => response.write('x'.repeat(65_536)), 1);
    response.once('close', () => clearInterval(timer));
  },
  list: (response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync('{"data":[{"id":"one"}]}')),
  whole: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(whole),
  'whole-gzip': (response) =>
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' }).end(gzipSync(whole)),
  'whole-cut': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(whole.slice(0, 60)),
  'whole-empty': (response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
  'error-200': (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"error":{"message":"slow down","code":429}}'),
  'page-200': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>login</html>'),
  untyped: (response) => response.writeHead(200).end(stream),
  // Far more than it looks, and beyond the size of an event.
  bomb: (response) => response.writeHead(200, { ...sse, 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(64 << 20))),
};

describe('what an upstream may send in place of a stream', () => {
  let server: Server;
  let inference: TestInference;

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      const received = await text(request);
      expect(request.headers['accept-encoding']).toBe('identity');
      const { model } = JSON.parse(received || '{"model":"list"}') as { model: string };
      answers[model]!(response);
    });
    inference = await startInference();
    const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
    await inference.service.putUpstream({ upstream: localUpstream(baseUrl) }, callContext({ caller: 'operator' }));
  });

  afterAll(async () => {
    await inference.stop();
    await close(server);
  });

  const stubRequest = (upstreamModel: string) =>
    collect(inference.service, textRequest('Hi', { targets: [{ upstreamId: 'cc', upstreamModel }] }));

  it.each(['gzip', 'gzip-flushed', 'whole', 'whole-gzip', 'untyped'])('%s is an answer', async (model) => {
    const messages = await stubRequest(model);
    expect(summary(eventsOf(messages)).slice(0, -1)).toEqual(['started', '0:text', 'Grüße', '0.']);
    expect(finishedOf(messages)).toMatchObject({ usage: { inputTokens: 3, outputTokens: 2 }, usageReported: true });
  });

  it('a compressed list of models is read', async () => {
    const { models } = await inference.service.listUpstreamModels({ upstreamId: 'cc' }, callContext({ caller: 'operator' }));
    expect(models.map(({ name }) => name)).toEqual(['one']);
  });

  it('a compressed stream is passed on as it arrives', async () => {
    expect((await stubRequest('gzip-flushed')).length).toBeGreaterThan(1);
  });

  it.each([
    ['gzip-cut', 'upstream_failed'],
    ['gzip-lie', 'upstream_failed'],
    ['gzip-error', 'upstream_rejected'],
    ['error-endless', 'upstream_failed'],
    ['whole-cut', 'upstream_failed'],
    ['whole-empty', 'upstream_failed'],
    ['error-200', 'upstream_rate_limited'],
    ['page-200', 'upstream_failed'],
    ['bomb', 'upstream_failed'],
  ])('%s is a failure: %s', async (model, reason) => {
    await expect(stubRequest(model)).rejects.toMatchObject({ reason });
  });
});
