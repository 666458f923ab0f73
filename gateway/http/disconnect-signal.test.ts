import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { untilTrue } from '#kit/testing/waiting.js';
import { listen } from '#kit/testing/local-server.js';
import { disconnectSignal } from './disconnect-signal.js';

describe('the disconnect signal', () => {
  let server: Server;
  let caller: Socket;

  afterEach(() => {
    caller.destroy();
    server.close();
  });

  async function answerTo(): Promise<ServerResponse> {
    const asked = new Promise<ServerResponse>((resolve) => (server = createServer((_request, response) => resolve(response))));
    caller = connect(await listen(server), '127.0.0.1');
    caller.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    return asked;
  }

  it('aborts when the client disconnects', async () => {
    const disconnected = disconnectSignal(await answerTo());
    expect(disconnected.aborted).toBe(false);
    caller.destroy();
    await untilTrue(() => disconnected.aborted);
    expect(disconnected.aborted).toBe(true);
  });

  it('is aborted already if the client disconnected before it was created', async () => {
    const response = await answerTo();
    caller.destroy();
    await untilTrue(() => response.closed);
    expect(disconnectSignal(response).aborted).toBe(true);
  });

  it('does not abort after the response has ended', async () => {
    const response = await answerTo();
    const disconnected = disconnectSignal(response);
    response.end('x');
    await untilTrue(() => response.closed);
    expect([response.closed, disconnected.aborted]).toEqual([true, false]);
  });
});
