import { EventEmitter, once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { listen } from '#kit/testing/local-server.js';
import { createSseWriter } from './sse.js';

/** A response whose client reads `room` frames and then nothing until it drains. */
class SlowResponse extends EventEmitter {
  headersSent = false;
  destroyed = false;
  readonly written: string[] = [];
  readonly socket = { setNoDelay: () => undefined };
  constructor(private room: number) {
    super();
  }
  get writableNeedDrain(): boolean {
    return this.room <= 0;
  }
  writeHead(): void {
    this.headersSent = true;
  }
  write(frames: string): boolean {
    this.written.push(frames);
    this.room -= 1;
    return this.room > 0;
  }
  #timer: NodeJS.Timeout | undefined;
  /** The server closes the connection after this time. */
  setTimeout(ms: number): void {
    clearTimeout(this.#timer);
    if (ms > 0) this.#timer = setTimeout(() => this.destroy(), ms);
  }
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

function writerTo(response: SlowResponse, slowReaderTimeoutMs = 60_000, keepAliveIntervalMs = 60_000) {
  const options = { headers: {}, keepAlive: 'ping', keepAliveIntervalMs, slowReaderTimeoutMs };
  return createSseWriter(response as unknown as ServerResponse, options);
}

describe('a stream of events', () => {
  it('waits while the client does not read, and continues when it does', async () => {
    const response = new SlowResponse(2);
    const writer = writerTo(response);
    await writer.write('one');
    let isReady = false;
    const written = writer.write('two').then(() => (isReady = true));
    await sleep(10);
    expect([isReady, response.written]).toEqual([false, ['one', 'two']]);
    response.emit('drain');
    await written;
    response.destroy();
  });

  it('continues when its client disconnects, and closes the connection of one that reads nothing', async () => {
    const gone = new SlowResponse(1);
    const written = writerTo(gone).write('one');
    gone.destroy();
    await written;
    const stuck = new SlowResponse(1);
    await writerTo(stuck, 10).write('one');
    expect(stuck.destroyed).toBe(true);
  });

  it('writes nothing more once its client has disconnected', async () => {
    const response = new SlowResponse(2);
    const writer = writerTo(response);
    await writer.write('one');
    response.destroy();
    await writer.write('two');
    expect(response.written).toEqual(['one']);
  });

  it('is kept alive while nothing else is sent, and not while its client does not read', async () => {
    const quiet = new SlowResponse(100);
    await writerTo(quiet, 60_000, 20).write('one');
    await sleep(100);
    quiet.destroy();
    expect(quiet.written.slice(0, 2)).toEqual(['one', 'ping']);
    const busy = new SlowResponse(1000);
    const writer = writerTo(busy, 60_000, 500);
    for (let count = 0; count < 30; count += 1) {
      await writer.write('one');
      await sleep(20);
    }
    busy.destroy();
    expect(busy.written).not.toContain('ping');
    const stuck = new SlowResponse(1);
    void writerTo(stuck, 60_000, 20).write('one');
    await sleep(100);
    stuck.destroy();
    expect(stuck.written).toEqual(['one']);
  });

  it('lasts as long as its client reads, however slowly', async () => {
    // Reading all of it takes more than twice the limit. A busy machine may run neither side for a part of the limit.
    const frame = 'x'.repeat(32 * 1024 * 1024);
    const server = createServer((_request, response) => {
      const writer = createSseWriter(response, { headers: {}, keepAlive: '', keepAliveIntervalMs: 60_000, slowReaderTimeoutMs: 1000 });
      void writer.write(frame).then(() => writer.end());
    });
    const socket = connect(await listen(server), '127.0.0.1');
    let bytes = 0;
    socket.on('data', (chunk) => {
      bytes += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 4);
    });
    const ended = once(socket, 'close');
    socket.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    await ended;
    server.close();
    expect(bytes).toBeGreaterThan(frame.length);
  }, 30_000);
});
