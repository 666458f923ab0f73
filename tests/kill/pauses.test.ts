// Pauses processes at random instants, for longer than the official client libraries wait, and then checks that each of their calls is charged once,
// however often the library has sent it. TOLLGATE_TEST_PAUSES sets the number of pauses; TOLLGATE_TEST_SEED repeats their order and durations.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { createKey } from '../support/clients/calls.js';
import { addModel } from '../support/stub-models.js';
import { gatewayLog, modes, startSystem, type System } from '../support/systems/system.js';
import type { Script } from '../upstream/script.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';
import { readQuietBooks } from './books.js';
import { keepEvidence } from './evidence.js';
import { createFaults, type Target } from './faults.js';
import { type Random, seeded } from './random.js';

const pauses = Number(process.env['TOLLGATE_TEST_PAUSES']);
const seed = Number(process.env['TOLLGATE_TEST_SEED'] ?? Math.floor(Math.random() * 1e9));
const callers = 16;
const model = 'test/late';
const pauseMs = { min: 200, max: 3700 };
// The libraries time out in some calls only because of a pause, in others also because of the upstream.
const timeoutMs = { min: 1200, max: 2700 };
const upstreamDelaysMs = [0, 0, 500, 1500, 2000, 3000, 4000];
// More than there are calls; further calls would all be like the last one.
const scripts = 1000 + pauses * 200;

const answerAfter = (delayMs: number): Script => ({
  blocks: [{ type: 'text', text: 'An answer.' }],
  ...(delayMs === 0 ? {} : { fault: { kind: 'slow-headers', delayMs } }),
});

/** A request of a library, until its response begins. */
interface Attempt {
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** The status of the response, or the error. */
  readonly result: number | string;
}

/** A call of a library, with all of its retries. */
interface LibraryCall {
  /** Its X-Request-Id, which the retries repeat. */
  readonly id: string;
  readonly attempts: readonly Attempt[];
  /** Why the last attempt failed, if it did. */
  readonly error?: string;
}

describe.each(modes)('processes that are paused while client libraries time out and retry, %s', (mode) => {
  const targets: readonly Target[] =
    mode === 'single' ? ['all'] : ['auth', 'ledger', 'metering', 'inference', 'gateway', 'gateway', 'gateway'];
  let system: System;
  let stub: StubUpstream;

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem(mode, {
      OPENAI_API_KEY: stubApiKey,
      OPENAI_BASE_URL: stub.baseUrl,
      ...(mode === 'single' ? { TOLLGATE_GATEWAY_THREADS: '2' } : {}),
      // Longer than a library waits for the timeout of its next attempt, and longer than a pause.
      TOLLGATE_GATEWAY_RETRY_WAIT: '15s',
      TOLLGATE_GATEWAY_RPC_TIMEOUT: '8s',
    });
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  it(
    'charges each call once',
    async () => {
      const random = seeded(seed);
      stub.script('late', ...Array.from({ length: scripts }, () => answerAfter(random.pick(upstreamDelaysMs))));
      await addModel(system, model, 'openai', 'late');
      const { id: accountId } = await system.json<{ id: string }>('account', 'create', 'callers');
      await system.cli('balance', 'deposit', '100', '--account', accountId);
      const { secret } = await createKey(system, 'callers', '--account', accountId);
      const calls: LibraryCall[] = [];
      const faults = createFaults(system, () => stub.nextRequest());
      let isOver = false;
      const caller = async (index: number): Promise<void> => {
        const own = seeded(seed + index);
        while (!isOver) calls.push(await callWithRetries(system.baseUrl, secret, own));
      };
      const calling = Array.from({ length: callers }, (_, index) => caller(index + 1));
      try {
        for (let done = 0; done < pauses; done += 1) {
          await sleep(random.integer(300, 1800));
          await faults.stop(random.pick(targets), random.integer(pauseMs.min, pauseMs.max));
        }
      } finally {
        isOver = true;
        await Promise.all(calling);
      }
      const books = await readQuietBooks(system, [accountId], 2000, 90_000);
      const log = gatewayLog(system);
      const sentAtMs = sendingTimes(log);
      const seen = calls.map((call) => {
        const charged = books.records.filter((row) => row.client_request_id === call.id && row.charge_nano_usd !== '0');
        return { ...call, charged, crossed: charged.filter(({ id }) => hasCrossed(call, sentAtMs.get(id))).length };
      });
      const wrong = seen.filter(({ error, charged, crossed }) => {
        const isMissing = error === undefined && charged.length === 0;
        return isMissing || charged.some(({ outcome }) => outcome !== 'completed') || charged.length > 1 + crossed;
      });
      const retried = calls.filter(({ attempts }) => attempts.length > 1);
      const sums = {
        calls: calls.length,
        retried: retried.length,
        failed: calls.filter(({ error }) => error !== undefined).length,
        upstreamCalls: stub.requests.length,
        crossed: seen.reduce((sum, { crossed }) => sum + crossed, 0),
      };
      const evidence = wrong.length === 0 ? '' : keepEvidence({ seed, mode, faults: faults.done, seen, books, log });
      process.stdout.write(`${mode}, ${pauses} pauses, seed ${seed}: ${JSON.stringify(sums)}\n`);
      expect({ seed, evidence, wrong }).toEqual({ seed, evidence: '', wrong: [] });
      expect(retried.length).toBeGreaterThan(0);
      expect(books.verification).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    },
    120_000 + pauses * 10_000,
  );
});

/** Returns when the gateway had sent the answer of each call to a client that was still connected, by call id: once, or more often if retries joined. */
function sendingTimes(log: string): ReadonlyMap<string, number[]> {
  const times = new Map<string, number[]>();
  for (const line of log.split('\n')) {
    if (!line.includes('"msg":"request"')) continue;
    const {
      request_id: id,
      original_request_id: callId = id,
      status,
      time,
    } = JSON.parse(line) as Record<string, string> & { status: number };
    if (status === 200) times.set(callId!, [...(times.get(callId!) ?? []), Date.parse(time!)]);
  }
  return times;
}

/** Whether the answer was sent before the library timed out, but too late for the library to read it. Such an answer counts as delivered. */
function hasCrossed({ attempts }: LibraryCall, sentAtMs: readonly number[] = []): boolean {
  const timedOut = attempts.filter(({ result }) => typeof result === 'string');
  return timedOut.some(({ startedAtMs, endedAtMs }) => sentAtMs.some((atMs) => startedAtMs < atMs && atMs <= endedAtMs));
}

/** Makes one call with an official library of random format, which retries by itself. Never raises. */
async function callWithRetries(baseUrl: string, apiKey: string, random: Random): Promise<LibraryCall> {
  const id = randomUUID();
  const options = { headers: { 'x-request-id': id }, timeout: random.integer(timeoutMs.min, timeoutMs.max), maxRetries: 8 };
  // They differ, because identical requests can get each other's answers.
  const body = { model, messages: [{ role: 'user' as const, content: id }], max_tokens: 100 };
  const attempts: Attempt[] = [];
  const observed: typeof fetch = async (url, init) => {
    const startedAtMs = Date.now();
    const ended = (result: number | string): unknown => attempts.push({ startedAtMs, endedAtMs: Date.now(), result });
    try {
      const response = await fetch(url, init);
      ended(response.status);
      return response;
    } catch (error) {
      ended(String(error));
      throw error;
    }
  };
  const openai = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey, fetch: observed });
  const anthropic = new Anthropic({ baseURL: baseUrl, apiKey, fetch: observed });
  const make = random.pick<() => Promise<unknown>>([
    () => openai.chat.completions.create(body, options),
    () => openai.chat.completions.stream(body, options).finalChatCompletion(),
    () => anthropic.messages.create(body, options),
    () => anthropic.messages.stream(body, options).finalMessage(),
  ]);
  return make().then(
    () => ({ id, attempts }),
    (error: unknown) => ({ id, attempts, error: String(error) }),
  );
}
