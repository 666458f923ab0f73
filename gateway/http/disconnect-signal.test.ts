import { afterEach, describe, expect, it } from '@jest/globals';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { untilTrue } from '#kit/testing/waiting.js';
import { listen } from '#kit/testing/local-server.js';
import { disconnectSignal, undeliveredSignal, whenRead, whenSent } from './disconnect-signal.js';

describe('the disconnect signal', () => {
  let server: Server;
  let caller: Socket;

  afterEach(() => {
    caller.destroy();
    server.close();
  });

  async function exchange(): Promise<{ request: IncomingMessage; response: ServerResponse }> {
    const asked = new Promise<{ request: IncomingMessage; response: ServerResponse }>(
      (resolve) => (server = createServer((request, response) => resolve({ request, response }))),
    );
    caller = connect(await listen(server), '127.0.0.1');
    caller.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    return asked;
  }
  const answerTo = async (): Promise<ServerResponse> => (await exchange()).response;

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

  it.each([true, false])('for an answer aborts if the client disconnected before the answer was sent: %s', async (hasLeft) => {
    const { request, response } = await exchange();
    const undelivered = undeliveredSignal(request, response);
    caller.resume();
    // The server has read nothing in between.
    if (hasLeft) caller.destroy();
    const wasOpen = new Promise((resolve) => whenSent(request, response, resolve));
    response.end('x');
    expect(await new Promise((resolve) => whenRead(request, resolve))).toBe(!hasLeft);
    expect([await wasOpen, undelivered.aborted]).toEqual([!hasLeft, hasLeft]);
    caller.destroy();
    await untilTrue(() => request.socket.destroyed);
    expect(undelivered.aborted).toBe(hasLeft);
  });

  it('for an answer does not abort because the server closes the connection', async () => {
    const { request, response } = await exchange();
    const undelivered = undeliveredSignal(request, response);
    response.setHeader('connection', 'close');
    caller.resume();
    const wasOpen = new Promise((resolve) => whenSent(request, response, resolve));
    response.end('x');
    expect(await wasOpen).toBe(true);
    await untilTrue(() => request.socket.destroyed);
    expect(undelivered.aborted).toBe(false);
  });
});
