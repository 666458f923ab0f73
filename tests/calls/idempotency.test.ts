// Calls with an Idempotency-Key: whatever happens, at most one call upstream is charged, with one record and one charge.
import { execFile } from 'node:child_process';
import { randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { chat, createKey, post, settled, sumOfCharges, type UsageRow, usdOf } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { killOne, pidsOf } from '../support/systems/processes.js';
import { gatewayLog, modes, startSystem, type System } from '../support/systems/system.js';
import type { Script } from '../upstream/script.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

const run = promisify(execFile);
const paths = ['/v1/chat/completions', '/v1/messages'] as const;
const credit = 1_000_000_000n;
const answerBytesMax = 20_000;

const plain: Script = { blocks: [{ type: 'text', text: 'Hello from the stub upstream.' }] };

/** A stream of two seconds or so, in small frames. */
const slow: Script = { blocks: [{ type: 'text', text: 'word '.repeat(60) }], deltaChars: 5, frameDelayMs: 40 };

/** A stream that lasts until the gateway is killed, however slow the machine is. */
const endless: Script = { ...slow, frameDelayMs: 500 };

/** Fetches over a connection of its own that is closed after the response, as many proxies do. */
const closingFetch: typeof fetch = (url, init) =>
  new Promise((resolve, reject) => {
    const { method, headers, body, signal } = init!;
    const sent = request(String(url), { method: method!, headers: Object.fromEntries(new Headers(headers)), agent: false }, (response) => {
      const head = { status: response.statusCode!, headers: response.headers as Record<string, string> };
      text(response).then((received) => resolve(new Response(received, head)), reject);
    });
    sent.once('error', reject);
    signal!.addEventListener('abort', () => sent.destroy(new DOMException('The request timed out.', 'AbortError')), { once: true });
    sent.end(body);
  });

describe.each(modes)('an idempotency key, %s', (mode) => {
  let system: System;
  let stub: StubUpstream;

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem(mode, {
      OPENAI_API_KEY: stubApiKey,
      OPENAI_BASE_URL: stub.baseUrl,
      // Short, so that calls of a killed gateway are soon lost, but longer than a busy machine pauses, in addition to the pauses of a test.
      TOLLGATE_METERING_LEASE: '8s',
      TOLLGATE_METERING_LOST_GRACE: '0ms',
      TOLLGATE_METERING_SWEEP_INTERVAL: '100ms',
      TOLLGATE_GATEWAY_KEPT_ANSWER_BYTES_MAX: String(answerBytesMax),
      TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
      // Longer than a busy machine delays a retry.
      TOLLGATE_GATEWAY_RETRY_WAIT: '8s',
      TOLLGATE_GATEWAY_HOLD_TTL: '10s',
      TOLLGATE_METERING_HOLD_TTL: '10s',
    });
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  const modelsByScript = new Map<string, string>();

  /** Adds a model that answers by these scripts, one after another; a model that always does the same is added only once. */
  async function modelOf(scripts: readonly Script[]): Promise<string> {
    const id = scripts.length === 1 ? JSON.stringify(scripts) : randomUUID();
    const known = modelsByScript.get(id);
    if (known !== undefined) return known;
    const name = `m-${randomUUID()}`;
    stub.script(name, ...scripts);
    const path = join(system.dataDir, 'model.json');
    const targets = [{ upstream_id: 'openai', upstream_model: name }];
    writeFileSync(
      path,
      JSON.stringify({
        id: `t/${name}`,
        display_name: name,
        context_limit_tokens: 100_000,
        output_limit_tokens: 4000,
        targets,
        tokenizer: 'o200k',
      }),
    );
    await system.cli('model', 'put', path);
    await system.cli('price', 'publish', `t/${name}`, '--input', '1', '--output', '5');
    modelsByScript.set(id, `t/${name}`);
    return `t/${name}`;
  }

  /** A customer with one dollar, whose requests identify the customer. */
  class Customer {
    private constructor(
      readonly accountId: string,
      readonly secret: string,
      readonly model: string,
      readonly messages: [{ role: 'user'; content: string }],
    ) {}

    static async create(...scripts: Script[]): Promise<Customer> {
      return Customer.with(credit, ...scripts);
    }

    static async with(balance: bigint, ...scripts: Script[]): Promise<Customer> {
      const name = randomUUID();
      const model = await modelOf(scripts.length === 0 ? [plain] : scripts);
      const { id } = await system.json<{ id: string }>('account', 'create', name);
      if (balance > 0n) await system.cli('balance', 'deposit', usdOf(balance), '--account', id);
      const { secret } = await createKey(system, name, '--account', id);
      await eventually(async () =>
        (await fetch(`${system.baseUrl}/v1/models/${model}`, { headers: { 'x-api-key': secret } })).status === 200 ? true : undefined,
      );
      return new Customer(id, secret, model, [{ role: 'user', content: `Hello from ${name}` }]);
    }

    call(path: string, key: string, fields: object = {}, init: RequestInit = {}): Promise<Response> {
      return post(
        system,
        path,
        this.secret,
        { model: this.model, max_tokens: 200, messages: this.messages, ...fields },
        { ...init, headers: { 'idempotency-key': key } },
      );
    }

    upstreamCalls(): number {
      return stub.requests.filter(({ body }) => JSON.stringify(body['messages']) === JSON.stringify(this.messages)).length;
    }

    /** Returns what the calls in flight had used by their last checkpoints. */
    async checkpoints(): Promise<bigint[]> {
      const lines = (await system.cli('balance', 'holds', '--json', '--account', this.accountId)).trim().split('\n');
      return lines.map((line) => BigInt((JSON.parse(line) as { checkpoint_nano_usd: string }).checkpoint_nano_usd));
    }

    /** Waits until everything is settled, and expects this many records, whose charges were subtracted from the balance. */
    async books(calls: number): Promise<UsageRow[]> {
      const { rows, balance } = await settled(system, this.accountId, calls);
      expect(rows).toHaveLength(calls);
      expect(BigInt(balance.available_nano_usd)).toBe(credit - sumOfCharges(rows));
      return rows;
    }
  }

  const reasonOf = async (response: Response): Promise<unknown> => ((await response.json()) as { error: { reason: string } }).error.reason;

  /** Makes a call, and disconnects as soon as a part of the answer has arrived. */
  async function leaveMidStream(customer: Customer, path: string, key: string): Promise<string> {
    const disconnect = new AbortController();
    const response = await customer.call(path, key, { stream: true }, { signal: disconnect.signal });
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    for (let seen = ''; !seen.includes('word');) seen += (await reader.read()).value ?? '';
    disconnect.abort();
    await reader.read().catch(() => undefined);
    return response.headers.get('x-request-id')!;
  }

  it.each(
    paths.flatMap(
      (path) =>
        [
          [path, false],
          [path, true],
        ] as const,
    ),
  )('returns the recorded answer again, byte for byte: %s, stream %s', async (path, stream) => {
    const customer = await Customer.create();
    const first = await customer.call(path, 'order-1', { stream });
    expect([first.status, first.headers.get('idempotency-replayed')]).toEqual([200, null]);
    const body = await first.text();
    for (let times = 0; times < 3; times += 1) {
      const again = await customer.call(path, 'order-1', { stream });
      expect(again.status).toBe(200);
      expect(again.headers.get('content-type')).toBe(first.headers.get('content-type'));
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(again.headers.get('x-tollgate-original-request-id')).toBe(first.headers.get('x-request-id'));
      expect(again.headers.get('x-request-id')).not.toBe(first.headers.get('x-request-id'));
      expect(again.headers.get('x-tollgate-charge-usd')).toBe(first.headers.get('x-tollgate-charge-usd'));
      expect(await again.text()).toBe(body);
    }
    expect(customer.upstreamCalls()).toBe(1);
    expect((await customer.books(1))[0]).toMatchObject({ id: first.headers.get('x-request-id'), outcome: 'completed' });
  });

  it.each(paths)(
    'is refused with another body, reports a call that is in progress, and is a different key for other accounts and endpoints: %s',
    async (path) => {
      const customer = await Customer.create(slow, plain);
      const running = customer.call(path, 'order-1', { stream: true });
      await eventually(() => (customer.upstreamCalls() === 1 ? true : undefined));
      const meanwhile = await customer.call(path, 'order-1', { stream: true });
      expect([meanwhile.status, meanwhile.headers.get('retry-after'), await reasonOf(meanwhile)]).toEqual([
        409,
        '2',
        'idempotency_in_progress',
      ]);
      for (const state of ['running', 'done']) {
        const other = await customer.call(path, 'order-1', { stream: true, temperature: 0.5 });
        expect([state, other.status, other.headers.get('x-should-retry'), await reasonOf(other)]).toEqual([
          state,
          422,
          'false',
          'idempotency_mismatch',
        ]);
        await (await running).text().catch(() => undefined);
      }
      expect(customer.upstreamCalls()).toBe(1);
      const stranger = await Customer.create();
      expect((await stranger.call(path, 'order-1')).headers.get('idempotency-replayed')).toBeNull();
      const elsewhere = await customer.call(
        paths.find((other) => other !== path)!,
        'order-1',
      );
      expect([elsewhere.status, elsewhere.headers.get('idempotency-replayed')]).toEqual([200, null]);
      await customer.books(2);
    },
    120_000,
  );

  it.each(paths)('must be well-formed: %s', async (path) => {
    const customer = await Customer.create();
    for (const key of ['', 'two words', 'x'.repeat(256)]) {
      const refused = await customer.call(path, key);
      expect(refused.status).toBe(400);
      expect(await refused.json()).toMatchObject({
        error: { param: 'idempotency-key', message: expect.stringContaining('Idempotency-Key') },
      });
    }
    expect(customer.upstreamCalls()).toBe(0);
  });

  it('admits one of 50 simultaneous calls', async () => {
    const customer = await Customer.create({ ...slow, fault: { kind: 'slow-headers', delayMs: 500 } });
    const answers = await Promise.all(
      Array.from({ length: 50 }, async () => {
        const response = await customer.call(paths[0], 'order-1');
        return { status: response.status, text: await response.text(), replayed: response.headers.get('idempotency-replayed') };
      }),
    );
    expect(answers.filter(({ status, replayed }) => status === 200 && replayed === null)).toHaveLength(1);
    expect(answers.filter(({ status, replayed }) => status === 409 || replayed === 'true')).toHaveLength(49);
    expect(new Set(answers.filter(({ status }) => status === 200).map((answer) => answer.text)).size).toBe(1);
    expect(customer.upstreamCalls()).toBe(1);
    await customer.books(1);
  }, 120_000);

  it.each(paths)('continues a call whose client disconnected in the middle of the stream, for its retry: %s', async (path) => {
    const customer = await Customer.create(slow);
    const id = await leaveMidStream(customer, path, 'order-1');
    expect((await customer.call(path, 'order-1', { stream: true })).status).toBe(409);
    const again = await eventually(async () => {
      const response = await customer.call(path, 'order-1', { stream: true });
      return response.status === 200 ? response : undefined;
    });
    expect(again.headers.get('x-tollgate-original-request-id')).toBe(id);
    const body = await again.text();
    expect(body).toMatch(/data: \[DONE\]|event: message_stop/);
    expect(body.match(/word/g)).toHaveLength(60);
    expect(customer.upstreamCalls()).toBe(1);
    expect((await customer.books(1))[0]).toMatchObject({ id, outcome: 'completed', token_source: 'reported' });
  });

  it('works with the official clients, which retry by themselves while a call is in progress', async () => {
    // Each call ends before the first retry after two seconds.
    const customer = await Customer.create({ ...slow, frameDelayMs: 25 });
    const statuses: number[] = [];
    const observed: typeof fetch = async (...request) => {
      const response = await fetch(...request);
      statuses.push(response.status);
      return response;
    };
    // More retries than by default, for a busy machine.
    const client = { apiKey: customer.secret, maxRetries: 10, fetch: observed };
    const openai = new OpenAI({ ...client, baseURL: `${system.baseUrl}/v1` });
    const anthropic = new Anthropic({ ...client, baseURL: system.baseUrl });
    const body = { model: customer.model, messages: customer.messages };
    const message = { ...body, max_tokens: 200 };
    const options = (key: string) => ({ headers: { 'idempotency-key': key } });
    /** Makes a call, and the same call again while the first is in progress, which is refused until the first has ended. */
    const twice = async <T>(make: () => Promise<T>): Promise<[T, T]> => {
      statuses.length = 0;
      const before = customer.upstreamCalls();
      const first = make();
      await eventually(() => (customer.upstreamCalls() > before ? true : undefined));
      const answers = await Promise.all([first, make()]);
      expect(statuses).toContain(409);
      return answers;
    };
    const [whole, wholeAgain] = await twice(async () => openai.chat.completions.create(body, options('a')));
    expect(wholeAgain).toEqual(whole);
    const [streamed, streamedAgain] = await twice(() => openai.chat.completions.stream(body, options('b')).finalChatCompletion());
    expect(streamedAgain).toEqual(streamed);
    const [written, writtenAgain] = await twice(async () => anthropic.messages.create(message, options('a')));
    expect(writtenAgain).toEqual(written);
    const [told, toldAgain] = await twice(() => anthropic.messages.stream(message, options('b')).finalMessage());
    expect(toldAgain).toEqual(told);
    const disconnect = new AbortController();
    const left = openai.chat.completions.create({ ...body, stream: true }, { ...options('c'), signal: disconnect.signal });
    for await (const chunk of await left) if (chunk.choices[0]?.delta.content !== undefined) break;
    disconnect.abort();
    const found = await openai.chat.completions.stream(body, options('c')).finalChatCompletion();
    expect(found.choices[0]!.message.content).toBe('word '.repeat(60));
    await expect(openai.chat.completions.create({ ...body, max_tokens: 201 }, options('a'))).rejects.toBeInstanceOf(
      OpenAI.UnprocessableEntityError,
    );
    await expect(anthropic.messages.create({ ...message, max_tokens: 201 }, options('a'))).rejects.toBeInstanceOf(
      Anthropic.UnprocessableEntityError,
    );
    expect(customer.upstreamCalls()).toBe(5);
    await customer.books(5);
  }, 120_000);

  it('can be used again after a call was refused because of an empty balance', async () => {
    const customer = await Customer.with(0n);
    expect((await customer.call(paths[0], 'order-1')).status).toBe(402);
    await system.cli('balance', 'deposit', usdOf(credit), '--account', customer.accountId);
    const paid = await customer.call(paths[0], 'order-1');
    expect([paid.status, paid.headers.get('idempotency-replayed')]).toEqual([200, null]);
    expect((await customer.call(paths[0], 'order-1')).headers.get('idempotency-replayed')).toBe('true');
    expect(customer.upstreamCalls()).toBe(1);
    await customer.books(1);
  });

  it('can be used again after an upstream failed free of charge, streamed or whole', async () => {
    const failing: Script = {
      fault: { kind: 'status', status: 400, body: { error: { message: 'no', type: 'invalid_request_error', param: null, code: null } } },
    };
    const customer = await Customer.create(failing, failing, plain);
    expect((await customer.call(paths[0], 'order-1', { stream: true })).status).toBe(400);
    expect((await customer.call(paths[1], 'order-1')).status).toBe(400);
    for (const path of paths) {
      expect((await customer.call(path, 'order-1', path === paths[0] ? { stream: true } : {})).status).toBe(200);
    }
    const rows = await customer.books(4);
    expect(rows.filter((row) => row.charge_nano_usd === '0')).toHaveLength(2);
    expect(customer.upstreamCalls()).toBe(4);
  });

  it('returns a stream that broke off after output again, including its error', async () => {
    const customer = await Customer.create(
      { blocks: [{ type: 'text', text: 'word '.repeat(60) }], fault: { kind: 'cut', afterBytes: 4000 } },
      slow,
    );
    const broken = await customer.call(paths[0], 'order-1', { stream: true });
    const body = await broken.text();
    expect(body).toContain('"error"');
    const again = await customer.call(paths[0], 'order-1', { stream: true });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await again.text()).toBe(body);
    expect(customer.upstreamCalls()).toBe(1);
    expect((await customer.books(1))[0]).toMatchObject({ outcome: 'upstream_error_after_output' });
  });

  it.each(paths)('gets a clear error if the answer was too large to be kept, and is charged once: %s', async (path) => {
    const customer = await Customer.create({ blocks: [{ type: 'text', text: 'word '.repeat(answerBytesMax / 5) }], deltaChars: 500 });
    const first = await customer.call(path, 'order-1', { max_tokens: 4000 });
    expect(first.status).toBe(200);
    const again = await customer.call(path, 'order-1', { max_tokens: 4000 });
    expect([again.status, again.headers.get('x-should-retry')]).toEqual([410, 'false']);
    expect(await again.json()).toMatchObject({
      error: {
        reason: 'idempotency_answer_gone',
        original_request_id: first.headers.get('x-request-id'),
        message: expect.stringContaining('too large'),
      },
    });
    expect(customer.upstreamCalls()).toBe(1);
    await customer.books(1);
  });

  it('never leads to a second charge when the gateway is killed in the middle of a stream', async () => {
    const customer = await Customer.create(endless);
    const calls = paths.map(async (path) => {
      const response = await customer.call(path, 'order-1', { stream: true });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let seen = ''; !seen.includes('word');) seen += (await reader.read()).value ?? '';
      return { id: response.headers.get('x-request-id')!, ended: reader.closed.catch(() => undefined), reader };
    });
    const streams = await Promise.all(calls);
    await eventually(async () => ((await customer.checkpoints()).every((nanoUsd) => nanoUsd > 0n) ? true : undefined));
    if (mode === 'single') {
      await system.kill();
      await system.start();
    } else await killOne(system, 'gateway')();
    for (const [index, path] of paths.entries()) {
      const again = await eventually(async () => {
        const response = await customer.call(path, 'order-1', { stream: true });
        if (response.status !== 409) return response;
        await response.text();
        await sleep(100);
        return undefined;
      }, 30_000);
      expect(again.status).toBe(410);
      expect(await again.json()).toMatchObject({
        error: {
          reason: 'idempotency_answer_gone',
          original_request_id: streams[index]!.id,
          message: expect.stringContaining('the gateway crashed'),
        },
      });
    }
    expect(customer.upstreamCalls()).toBe(2);
    const rows = await customer.books(2);
    expect(rows.map((row) => row.outcome)).toEqual(['gateway_lost', 'gateway_lost']);
  });

  it('runs a whole answer again after its gateway was killed, because nothing was delivered or charged', async () => {
    const customer = await Customer.create(endless, plain);
    const broken = customer
      .call(paths[0], 'order-1')
      .then((response) => response.text())
      .catch(() => 'broken');
    await eventually(() => (customer.upstreamCalls() === 1 ? true : undefined));
    await sleep(500);
    if (mode === 'single') {
      await system.kill();
      await system.start();
    } else await killOne(system, 'gateway')();
    expect(await broken).toBe('broken');
    const again = await eventually(async () => {
      const response = await customer.call(paths[0], 'order-1');
      if (response.status === 200) return response;
      await sleep(100);
      return undefined;
    }, 30_000);
    expect(again.headers.get('idempotency-replayed')).toBeNull();
    const rows = await customer.books(2);
    expect(rows.filter((row) => row.charge_nano_usd !== '0')).toHaveLength(1);
    expect(customer.upstreamCalls()).toBe(2);
  });

  /** Returns the statuses of the calls of an account in the access log. */
  function loggedStatuses(accountId: string): number[] {
    const lines = gatewayLog(system)
      .split('\n')
      .filter((line) => line.includes(accountId) && line.includes('"method":"POST"'));
    return lines.map((line) => (JSON.parse(line) as { status: number }).status);
  }

  /** Answers in the middle of the first retry of the libraries below, so that on a busy machine no answer arrives while an attempt times out. */
  const late: Script = { ...plain, fault: { kind: 'slow-headers', delayMs: 5000 } };
  const patience = { timeout: 3000, maxRetries: 4 };

  it.each([false, true])(
    'is not needed by the official libraries for Node, whose retries join the call: stream %s',
    async (stream) => {
      const customer = await Customer.create(late);
      const openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: customer.secret, ...patience });
      const anthropic = new Anthropic({ baseURL: system.baseUrl, apiKey: customer.secret, ...patience });
      const body = { model: customer.model, messages: customer.messages, max_tokens: 200 };
      const heard = stream
        ? [
            (await openai.chat.completions.stream(body).finalChatCompletion()).choices[0]!.message.content,
            await anthropic.messages.stream(body).finalText(),
          ]
        : [(await openai.chat.completions.create(body)).choices[0]!.message.content, (await anthropic.messages.create(body)).content];
      expect(JSON.stringify(heard).match(/Hello from the stub upstream/g)).toHaveLength(2);
      expect(customer.upstreamCalls()).toBe(2);
      expect((await customer.books(2)).map(({ outcome }) => outcome)).toEqual(['completed', 'completed']);
      // Each library was answered once, and its attempts before that timed out.
      const statuses = await eventually(() => {
        const logged = loggedStatuses(customer.accountId);
        return [200, 499].every((status) => logged.filter((each) => each === status).length >= 2) ? logged : undefined;
      });
      expect(statuses.filter((status) => status !== 499)).toEqual([200, 200]);
    },
    60_000,
  );

  it('is not needed by the official libraries for Python, whose retries join the call', async () => {
    const customer = await Customer.create(late);
    const { stdout } = await run('.toolchain/python/bin/python', [
      '-c',
      `
import anthropic, openai
body = dict(model="${customer.model}", max_tokens=200, messages=[{"role": "user", "content": "${customer.messages[0].content}"}])
one = openai.OpenAI(base_url="${system.baseUrl}/v1", api_key="${customer.secret}", timeout=3, max_retries=4)
print(one.chat.completions.create(**body).choices[0].message.content)
other = anthropic.Anthropic(base_url="${system.baseUrl}", api_key="${customer.secret}", timeout=3, max_retries=4)
answer = other.messages.with_raw_response.create(**body)
print(answer.parse().content[0].text, answer.headers["idempotency-replayed"])
`,
    ]);
    expect(stdout).toBe('Hello from the stub upstream.\nHello from the stub upstream. true\n');
    expect(customer.upstreamCalls()).toBe(2);
    await customer.books(2);
  }, 120_000);

  it('is not needed when the gateway is paused while clients time out and the upstream answers: each call is charged once', async () => {
    const customer = await Customer.create({ ...plain, fault: { kind: 'slow-headers', delayMs: 4400 } });
    // The pause is shorter than the lease of the calls.
    const limits = { timeout: 4000, maxRetries: 4 };
    let retries = 0;
    const counting =
      (send: typeof fetch): typeof fetch =>
      (url, init) => {
        if (new Headers(init?.headers).get('x-stainless-retry-count') !== '0') retries += 1;
        return send(url, init);
      };
    const openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: customer.secret, ...limits, fetch: counting(fetch) });
    const anthropic = new Anthropic({ baseURL: system.baseUrl, apiKey: customer.secret, ...limits, fetch: counting(fetch) });
    // They differ, because identical requests can get each other's answers.
    const bodies = [100, 101, 102, 103].map((cap) => ({ model: customer.model, messages: customer.messages, max_tokens: cap }));
    const pid = mode === 'single' ? system.pid() : pidsOf(system).gateway;
    const closing = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: customer.secret, ...limits, fetch: counting(closingFetch) });
    const answers = bodies.flatMap((body) => [
      closing.chat.completions.create({ ...body, max_tokens: body.max_tokens + 50 }).then(({ choices }) => choices[0]!.message.content),
      openai.chat.completions.create(body).then(({ choices }) => choices[0]!.message.content),
      openai.chat.completions
        .stream(body)
        .finalChatCompletion()
        .then(({ choices }) => choices[0]!.message.content),
      anthropic.messages.create(body).then(({ content }) => content.map((block) => (block.type === 'text' ? block.text : '')).join('')),
      anthropic.messages.stream(body).finalText(),
    ]);
    const all = Promise.all(answers);
    // A failure is reported where `all` is awaited.
    all.catch(() => undefined);
    await eventually(() => (customer.upstreamCalls() === answers.length ? true : undefined));
    // A process calls the upstream before it has admitted the call, which takes longer on a busy machine.
    await sleep(1000);
    process.kill(pid, 'SIGSTOP');
    try {
      await eventually(() => (retries === answers.length ? true : undefined));
      // By then the upstream has answered. The retries time out long after that.
      await sleep(500);
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    expect(await all).toEqual(answers.map(() => 'Hello from the stub upstream.'));
    expect(customer.upstreamCalls()).toBe(answers.length);
    expect((await customer.books(answers.length)).map(({ outcome }) => outcome)).toEqual(answers.map(() => 'completed'));
  }, 60_000);

  // The ledger has a process of its own only in distributed mode.
  if (mode === 'distributed')
    it('is not needed when the client disconnects before its call is admitted: only the retry calls the upstream and is charged', async () => {
      const customer = await Customer.create();
      const openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: customer.secret, timeout: 3000, maxRetries: 4 });
      const { ledger } = pidsOf(system);
      process.kill(ledger, 'SIGSTOP');
      const answering = openai.chat.completions.create({ model: customer.model, messages: customer.messages });
      // The first retry is sent after 3.5 s at most, and both attempts are admitted when the ledger continues.
      await sleep(4500).finally(() => process.kill(ledger, 'SIGCONT'));
      expect((await answering).choices[0]!.message.content).toBe('Hello from the stub upstream.');
      const { rows } = await settled(system, customer.accountId, 2);
      expect(rows.filter((row) => row.charge_nano_usd !== '0').map(({ outcome }) => outcome)).toEqual(['completed']);
      expect(customer.upstreamCalls()).toBe(1);
    }, 60_000);

  it('is not needed to stop a call whose client does not retry: it is charged once, as after a disconnect', async () => {
    const customer = await Customer.create({ ...plain, fault: { kind: 'slow-headers', delayMs: 30_000 } });
    // The first attempt reaches the upstream within this time, also on a busy machine.
    const openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: customer.secret, timeout: 2000, maxRetries: 1 });
    await expect(openai.chat.completions.create({ model: customer.model, messages: customer.messages })).rejects.toBeInstanceOf(
      OpenAI.APIConnectionTimeoutError,
    );
    expect(customer.upstreamCalls()).toBe(1);
    expect((await customer.books(1))[0]).toMatchObject({ outcome: 'client_disconnected' });
  }, 60_000);

  it('leaves correct books', async () => {
    expect(await system.json('ledger', 'verify')).toMatchObject({ ok: true, sum_nano_usd: '0', drifts: [], open_holds: 0 });
  });
});

describe('an idempotency key whose answers are kept for a second', () => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem('single', {
      TOLLGATE_METERING_KEPT_ANSWER_TTL: '1s',
      TOLLGATE_GATEWAY_STORED_RESPONSE_TTL: '1s',
      TOLLGATE_METERING_KEPT_BYTES_PER_ACCOUNT_MAX: '40000',
    });
  });

  afterAll(() => system?.stop());

  it('admits a new call afterwards', async () => {
    const call = () => chat(system, system.firstKey, {}, { headers: { 'idempotency-key': 'order-1' } });
    const first = await call();
    expect(first.status).toBe(200);
    const later = await eventually(async () => {
      const again = await call();
      return again.headers.get('idempotency-replayed') === null ? again : undefined;
    });
    expect(later.status).toBe(200);
    const { id } = await system.json<{ id: string }>('account', 'list');
    const { rows, balance } = await settled(system, id, 2);
    expect(rows.map((row) => row.id).toSorted()).toEqual([first, later].map((response) => response.headers.get('x-request-id')).toSorted());
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
  });

  it('stores responses for that time, as far as there is room', async () => {
    const { responses } = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: system.firstKey, maxRetries: 0 });
    const model = 'sandbox/echo';
    const { id } = await responses.create({ model, input: 'Hello' });
    const { id: account } = await system.json<{ id: string }>('account', 'create', 'Somebody else');
    const { secret } = await createKey(system, 'theirs', '--account', account);
    for (const method of ['GET', 'DELETE']) {
      const answer = await fetch(`${system.baseUrl}/v1/responses/${id}`, { method, headers: { authorization: `Bearer ${secret}` } });
      expect([method, answer.status]).toEqual([method, 404]);
    }
    await eventually(() =>
      responses.retrieve(id).then(
        () => undefined,
        (error: InstanceType<typeof OpenAI.APIError>) => error.status === 404,
      ),
    );
    await expect(responses.create({ model, input: 'Hi', previous_response_id: id })).rejects.toMatchObject({
      code: 'previous_response_not_found',
    });
    const noise = randomBytes(20_000).toString('base64');
    const refused = await responses.create({ model, input: noise, max_output_tokens: 16 });
    expect(refused).toMatchObject({ store: false, store_failure: { code: 'limit_reached' } });
    const events = await responses.create({ model, input: noise, max_output_tokens: 16, stream: true });
    const stores: unknown[] = [];
    for await (const event of events) if ('response' in event) stores.push((event.response as unknown as { store: boolean }).store);
    expect(stores).toEqual([true, true, false]);
  });
});
