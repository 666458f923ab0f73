import { createServer, type Server, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { collectGarbage } from '#kit/testing/garbage.js';
import { close, listen } from '#kit/testing/local-server.js';
import { eventually } from '#kit/testing/waiting.js';
import { localUpstream, startInference, type TestInference, textRequest } from '../../testing/fixtures.js';

const prompt = 'ü'.repeat(500_000);
const streams = 20;

describe('a long prompt', () => {
  let server: Server;
  let inference: TestInference;
  const received: { body: string; length: string | undefined }[] = [];
  const responses: ServerResponse[] = [];

  beforeAll(async () => {
    server = createServer(async (request, response) => {
      received.push({ body: await text(request), length: request.headers['content-length'] });
      responses.push(response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { role: 'assistant', content: 'Well,' } }] })}\n\n`);
    });
    inference = await startInference();
    const baseUrl = `http://127.0.0.1:${await listen(server)}/v1`;
    await inference.service.putUpstream({ upstream: localUpstream(baseUrl) }, callContext({ caller: 'operator' }));
  });

  afterAll(async () => {
    for (const response of responses) response.destroy();
    await inference.stop();
    await close(server);
  });

  it('is sent whole, and its bytes are released while the answer arrives', async () => {
    await collectGarbage();
    const before = process.memoryUsage().arrayBuffers;
    const answers = Array.from({ length: streams }, () =>
      inference.service
        .generate(
          textRequest(prompt, { targets: [{ upstreamId: 'cc', upstreamModel: 'one' }] }),
          callContext({ caller: 'gateway', timeoutMs: 60_000 }),
        )
        [Symbol.asyncIterator](),
    );
    for (const answer of answers) expect((await answer.next()).done).not.toBe(true);
    const lengths = received.splice(0).map(({ body, length }) => {
      const { messages } = JSON.parse(body) as { messages: { content: string }[] };
      expect(Number(length)).toBe(Buffer.byteLength(body));
      return messages[0]!.content.length;
    });
    expect(lengths).toEqual(answers.map(() => prompt.length));
    // One prompt has a million bytes. V8 may release them a little later than the collection.
    await eventually(async () => {
      await collectGarbage();
      return (process.memoryUsage().arrayBuffers - before) / 1e6 < streams / 4 ? true : undefined;
    });
    await Promise.all(answers.map((answer) => answer.return?.()));
  });
});
