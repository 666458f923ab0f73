// Streams in difficult conditions: clients that stop reading or disconnect, and upstreams that fall silent, die, or split their bytes anywhere, on all four
// paths between formats.
import { readFileSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Stage, startStage, type Upstream, upstreams } from '../clients/stage.js';
import { type Firehose, startFirehose } from '../support/vendors/firehose.js';
import { settled } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { pidsOf } from '../support/systems/processes.js';
import { queuedBytes } from '../support/sockets.js';
import { addModel, addUpstream } from '../support/stub-models.js';
import { modes } from '../support/systems/system.js';
import type { Json } from '../upstream/checks/check.js';

const megabyte = 1 << 20;
const answerBytes = 120 * megabyte;
const paths = upstreams.flatMap((client) => upstreams.map((upstream) => ({ client, upstream })));

describe.each(modes)('a stream, %s', (mode) => {
  let stage: Stage;
  let firehose: Firehose;

  beforeAll(async () => {
    firehose = await startFirehose(answerBytes);
    stage = await startStage(mode, {
      TOLLGATE_GATEWAY_KEEP_ALIVE_INTERVAL: '150ms',
      TOLLGATE_GATEWAY_SLOW_READER_TIMEOUT: '60s',
      // Long enough to distinguish a call that was drained for all of this time from one that stopped at the maximum number of tokens.
      TOLLGATE_GATEWAY_READ_ON_TIME: '60s',
      TOLLGATE_INFERENCE_RESPONSE_BYTES_MAX: String(2 * answerBytes),
    });
    await addUpstream(stage.system, 'hose-cc', 'chat-completions', firehose.baseUrl, 'none');
    await addUpstream(stage.system, 'hose-m', 'messages', firehose.baseUrl, 'none');
    await addModel(stage.system, 'hose/chat-completions', 'hose-cc', 'firehose');
    await addModel(stage.system, 'hose/messages', 'hose-m', 'firehose');
    await eventually(async () => {
      const { data } = (await (await fetch(`${stage.system.baseUrl}/v1/catalog`)).json()) as { data: { id: string; available: boolean }[] };
      return data.filter(({ id, available }) => id.startsWith('hose/') && available).length === 2 ? true : undefined;
    });
    // Processes may learn of new upstreams a moment late, and a refused call would falsify the measurement.
    for (const upstream of upstreams) await eventually(async () => ((await answersOf(`hose/${upstream}`)) ? true : undefined));
    // These calls are counted by a tokenizer, whose vocabulary takes memory from then on.
    await settled(stage.system, stage.accountId, upstreams.length);
  });

  afterAll(async () => {
    await stage?.stop();
    await firehose?.stop();
  });

  /** A streamed call whose bytes are not read before `read` is called. */
  async function open(client: Upstream, model: string): Promise<IncomingMessage> {
    const body = JSON.stringify({ model, max_tokens: 4000, stream: true, messages: [{ role: 'user', content: 'Go on.' }] });
    const path = client === 'messages' ? '/v1/messages' : '/v1/chat/completions';
    return new Promise((resolve, reject) => {
      const request = httpRequest(
        `${stage.system.baseUrl}${path}`,
        { method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${stage.system.firstKey}` } },
        resolve,
      );
      request.on('error', reject);
      request.end(body);
    });
  }

  async function answersOf(model: string): Promise<boolean> {
    const response = await open('chat-completions', model);
    response.destroy();
    return response.statusCode === 200;
  }

  /** Memory of the processes that a stream goes through. */
  function residentBytes(): number {
    const pids = mode === 'single' ? [stage.system.pid()] : [pidsOf(stage.system).gateway, pidsOf(stage.system).inference];
    return pids.reduce((sum, pid) => sum + Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024, 0);
  }

  it.each(paths)('from $upstream waits for a $client reader that stops, and is not buffered in memory', async ({ client, upstream }) => {
    // Otherwise, memory of what a first call loads and compiles would be attributed to the stream.
    (await open(client, stage.model(upstream))).resume();
    const before = residentBytes();
    const response = await open(client, `hose/${upstream}`);
    const taken = await firehose.stopped(1500);
    // Out of 120 MB, excluding what waits in the sockets of both connections, whose buffers Linux may let grow beyond this.
    const ports = [firehose.baseUrl, stage.system.baseUrl].map((url) => Number(new URL(url).port));
    expect(taken - queuedBytes(new Set(ports))).toBeLessThan(24 * megabyte);
    // What was read, its garbage, and code that was compiled meanwhile; the whole answer would be more.
    expect(residentBytes() - before).toBeLessThan(100 * megabyte);
    await sleep(1000);
    expect(firehose.bytesTaken()).toBe(taken);

    let received = 0;
    let end = '';
    let peak = 0;
    for await (const part of response) {
      received += (part as Buffer).length;
      end = (end + (part as Buffer).toString('latin1')).slice(-400);
      peak = Math.max(peak, received % (4 * megabyte) < (part as Buffer).length ? residentBytes() : 0);
    }
    expect(received).toBeGreaterThan(answerBytes);
    expect(end).toContain(client === 'messages' ? 'message_stop' : '[DONE]');
    // Some garbage of the 120 MB that passed through exists at any time, but never all of it.
    expect(peak - before).toBeLessThan(160 * megabyte);
  });

  it.each(paths)(
    'from $upstream is cancelled upstream soon after its $client reader disconnects, if more is left than is drained',
    async ({ client, upstream }) => {
      const response = await open(client, `hose/${upstream}`);
      await new Promise((resolve) => response.once('data', resolve));
      response.destroy();
      const leftAtMs = Date.now();
      const taken = await firehose.stopped(100);
      // 256 tokens arrive at once; the time limit is a minute.
      expect(Date.now() - leftAtMs).toBeLessThan(30_000);
      expect(taken).toBeLessThan(answerBytes);
    },
  );

  it.each(paths)(
    'from $upstream is cancelled upstream immediately when its $client reader disconnects before it began',
    async ({ client, upstream }) => {
      const asked = stage.play(upstream, { fault: { kind: 'slow-headers', delayMs: 20_000 } });
      const leaving = new AbortController();
      const path = client === 'messages' ? '/v1/messages' : '/v1/chat/completions';
      const body = JSON.stringify({
        model: stage.model(upstream),
        max_tokens: 50,
        stream: true,
        messages: [{ role: 'user', content: 'Hi' }],
      });
      const call = fetch(`${stage.system.baseUrl}${path}`, {
        method: 'POST',
        body,
        signal: leaving.signal,
        headers: { 'content-type': 'application/json', authorization: `Bearer ${stage.system.firstKey}` },
      }).catch((error: Error) => error.name);
      const [request] = await eventually(() => (asked().length > 0 ? asked() : undefined));
      leaving.abort();
      expect(await call).toBe('AbortError');
      // Long before the upstream begins its answer, and before the gateway would stop draining.
      expect(await Promise.race([request!.clientLeft, sleep(10_000, 'still there')])).toBe(true);
    },
  );

  const story = { type: 'text', text: 'It was a bright cold day in April, and the clocks were striking thirteen.' } as const;

  it.each(paths)(
    'from $upstream that falls silent is kept alive for its $client reader, in the way of the format',
    async ({ client, upstream }) => {
      stage.play(upstream, { blocks: [story], frameDelayMs: 400, deltaChars: 40 });
      const text = await textOf(await open(client, stage.model(upstream)));
      const keepAlive = client === 'messages' ? 'event: ping\ndata: {"type":"ping"}\n\n' : ': keep-alive\n\n';
      expect(text.split(keepAlive).length - 1).toBeGreaterThanOrEqual(3);
      // None before the first frame, and none after the last.
      expect(text.startsWith(keepAlive)).toBe(false);
      expect(text.trimEnd().endsWith(client === 'messages' ? '{"type":"message_stop"}' : 'data: [DONE]')).toBe(true);
      expect(text.includes(': keep-alive')).toBe(client === 'chat-completions');
    },
  );

  const deaths = paths.flatMap((path) => [
    { ...path, kind: 'cut' as const },
    { ...path, kind: 'reset' as const },
  ]);

  it.each(deaths)(
    'from $upstream that dies by a $kind ends with an error for its $client reader, never as if it were complete',
    async ({ client, upstream, kind }) => {
      stage.play(upstream, { blocks: [{ ...story, text: story.text.repeat(5) }], fault: { kind, afterBytes: 3000 } });
      const text = await textOf(await open(client, stage.model(upstream)));
      const last = JSON.parse(/data: (.*)$/.exec(text.trimEnd())![1]!) as Json;
      expect(last).toMatchObject({
        type: 'error',
        error: { type: client === 'messages' ? 'api_error' : 'server_error', reason: 'upstream_failed' },
      });
      expect(text).not.toMatch(/\[DONE\]|message_stop|message_delta|"finish_reason":"/);
      expect(text).toContain('bright');
    },
  );

  it.each(paths)('from $upstream cut at every byte reaches its $client reader as one that was not', async ({ client, upstream }) => {
    const blocks = [
      { type: 'reasoning', text: 'Grüße an 世界 👩‍👩‍👧.', signature: 'c2ln' },
      { type: 'text', text: 'Ça va? 👋🏽 "quoted" \\ and \n a line.' },
      { type: 'tool_call', id: 'call_1', name: 'get_weather', arguments: '{"city":"Zürich 🏔","note":"a \\"b\\" \\u00e9"}' },
    ] as const;
    const usage = { input: 5, output: 7 };
    const read = async (packetBytes?: number): Promise<string> => {
      stage.play(upstream, { blocks, usage, deltaChars: 3, style: packetBytes === undefined ? {} : { packetBytes } });
      const text = await textOf(await open(client, stage.model(upstream)));
      // Ids and times are each call's own; keep-alives come when they must. The input that message_start reports depends on what arrived with the
      // first bytes.
      return text
        .replace(/"usage":\{"input_tokens":\d+/, '')
        .replaceAll(/req_[0-9a-f]+|(chatcmpl|msg)_?-?[0-9a-f]{8,}|"created":\d+/g, '')
        .replaceAll(/: keep-alive\n\n|event: ping\ndata: {"type":"ping"}\n\n/g, '');
    };
    const whole = await read();
    expect(whole).toContain('Zür');
    expect(await read(1)).toBe(whole);
    expect(await read(5)).toBe(whole);
  });
});
