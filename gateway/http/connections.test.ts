import { afterEach, describe, expect, it } from '@jest/globals';
import { localOccupancy } from './occupancy.js';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { pipeline, Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { untilTrue } from '#kit/testing/waiting.js';
import { close, listen } from '#kit/testing/local-server.js';
import { type Connections, pipelinedMax, watchConnections } from './connections.js';

const request = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n';
const large = Buffer.alloc(32 * 1024 * 1024);

describe('connections', () => {
  let server: Server;
  let port: number;

  afterEach(() => close(server));

  async function serve(handle: RequestListener, connectionsMax = 100): Promise<Connections> {
    server = createServer();
    const connections = watchConnections(server, { connectionsMax, slowReaderTimeoutMs: 200 }, localOccupancy());
    server.on('request', connections.guard(handle));
    port = await listen(server);
    return connections;
  }

  function dial(): { socket: Socket; closed: Promise<void> } {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    return { socket, closed: new Promise((resolve) => socket.once('close', () => resolve())) };
  }

  it('closes a connection that keeps pipelining requests without waiting for their responses', async () => {
    let handled = 0;
    const connections = await serve(() => (handled += 1));
    const { socket, closed } = dial();
    socket.write(request.repeat(1000));
    await closed;
    expect(handled).toBe(pipelinedMax);
    await untilTrue(() => connections.isQuiet());
    expect(connections.isQuiet()).toBe(true);
  });

  it('are as many as the limit allows, and others are closed at once', async () => {
    await serve((_request, response) => void response.end('x'), 2);
    const ask = async (): Promise<{ socket: Socket; isAnswered: boolean }> => {
      const { socket, closed } = dial();
      const isAnswered = new Promise<boolean>((resolve) => socket.once('data', () => resolve(true)));
      socket.write(request);
      return { socket, isAnswered: await Promise.race([isAnswered, closed.then(() => false)]) };
    };
    const answers = [await ask(), await ask(), await ask()];
    expect(answers.map(({ isAnswered }) => isAnswered)).toEqual([true, true, false]);
    for (const { socket } of answers) socket.destroy();
  });

  it('serves any number of requests one after another on one connection', async () => {
    const connections = await serve((_request, response) => void response.end('x'));
    const { socket } = dial();
    let answers = 0;
    socket.on('data', () => {
      answers += 1;
      if (answers < 3 * pipelinedMax) socket.write(request);
    });
    socket.write(request);
    await untilTrue(() => answers === 3 * pipelinedMax && connections.isQuiet());
    expect([answers, connections.isQuiet()]).toEqual([3 * pipelinedMax, true]);
    socket.destroy();
  });

  it('closes the connection of a client that does not read a finished response, but not of one that waits for a response', async () => {
    const accepted: Socket[] = [];
    await serve((asked, response) => void (asked.url === '/large' && response.end(large)));
    server.on('connection', (socket) => accepted.push(socket));
    const reader = dial().socket.pause();
    reader.write(request.replace('/', '/large'));
    await untilTrue(() => accepted.length === 1);
    const caller = dial().socket;
    caller.write(request);
    await untilTrue(() => accepted.length === 2 && accepted[0]!.destroyed);
    expect(accepted.map((socket) => socket.destroyed)).toEqual([true, false]);
    reader.destroy();
    caller.destroy();
  });

  it('closes the connection of a client that stops reading a piped body, but not of one that waits for the rest of it', async () => {
    const accepted: Socket[] = [];
    let isDestroyed = false;
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) yield Buffer.alloc(65_536);
      } finally {
        isDestroyed = true;
      }
    }
    async function* slow(): AsyncGenerator<string> {
      // More than is buffered, so that this client keeps the body waiting at first.
      yield 'x'.repeat(1_000_000);
      await sleep(600);
      yield 'the rest';
    }
    await serve(
      (asked, response) => void pipeline(Readable.from(asked.url === '/endless' ? endless() : slow()), response, () => undefined),
    );
    server.on('connection', (socket) => accepted.push(socket));
    const stopped = dial().socket.pause();
    stopped.write(request.replace('/', '/endless'));
    await untilTrue(() => accepted.length === 1);
    const waiting = dial().socket;
    let received = '';
    waiting.on('data', (bytes) => (received += String(bytes)));
    waiting.write(request);
    await untilTrue(() => isDestroyed && (received.includes('the rest') || accepted[1]!.destroyed));
    expect([isDestroyed, accepted[0]!.destroyed, received.includes('the rest')]).toEqual([true, true, true]);
    stopped.destroy();
    waiting.destroy();
  });

  it('gives a pipelined request as much time as any other', async () => {
    let responses = 0;
    await serve((_request, response) => {
      responses += 1;
      if (responses === 1) response.end('first');
      else setTimeout(() => response.end('second'), 600);
    });
    const { socket, closed } = dial();
    let received = '';
    socket.on('data', (bytes) => (received += String(bytes)));
    socket.write(request.repeat(2));
    await Promise.race([closed, untilTrue(() => received.includes('second'))]);
    expect(received).toContain('second');
    socket.destroy();
  });

  it('is quiet only while no response is in progress', async () => {
    let finish = (): void => undefined;
    const connections = await serve((_request, response) => void (finish = () => response.end('x')));
    expect(connections.isQuiet()).toBe(true);
    const { socket } = dial();
    socket.write(request);
    await untilTrue(() => !connections.isQuiet());
    expect(connections.isQuiet()).toBe(false);
    finish();
    await untilTrue(() => connections.isQuiet());
    expect(connections.isQuiet()).toBe(true);
    socket.destroy();
  });

  it('are closed after their next response once the server stops, and while idle', async () => {
    let finish = (): void => undefined;
    const connections = await serve((_request, response) => void (finish = () => response.end('x')));
    const [busy, idle] = [dial(), dial()];
    let received = '';
    busy.socket.on('data', (bytes) => (received += String(bytes)));
    busy.socket.write(request);
    await untilTrue(() => !connections.isQuiet());
    connections.closeAfterResponses();
    await untilTrue(() => connections.closeIdle(0) === 1);
    await idle.closed;
    expect(connections.closeIdle(0)).toBe(1);
    finish();
    await untilTrue(() => received.endsWith('x'));
    idle.socket.destroy();
    const next = dial();
    next.socket.on('data', (bytes) => (received += String(bytes)));
    next.socket.write(request);
    await untilTrue(() => !connections.isQuiet());
    finish();
    await next.closed;
    expect(received.toLowerCase()).toContain('connection: close');
    busy.socket.destroy();
  });

  it('does not handle a request that arrives on a connection that a stop is closing, because nothing could be sent in response', async () => {
    let handled = 0;
    const connections = await serve(() => (handled += 1));
    let arrived = 0;
    server.on('request', () => (arrived += 1));
    let accepted = 0;
    server.on('connection', () => (accepted += 1));
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const received: Buffer[] = [];
    socket.on('data', (bytes) => received.push(bytes));
    const ended = new Promise((resolve) => socket.once('end', resolve));
    await untilTrue(() => accepted === 1);
    connections.closeAfterResponses();
    expect(connections.closeIdle(0)).toBe(0);
    await ended;
    socket.write(request);
    await untilTrue(() => arrived === 1);
    expect([arrived, handled, received, connections.isQuiet()]).toEqual([1, 0, [], true]);
    socket.destroy();
  });
});
