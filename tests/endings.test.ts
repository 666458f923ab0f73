// The table of endings in docs/charging.md, row by row: what the caller sees, what is on record, and what it costs to the nano-dollar.
// Each case is called in both formats, streamed and whole, over upstreams of both formats.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base';
import { call, type Combination, combinations, promptText, type Seen } from './support/answers.js';
import { createKey, get, settled, type UsageRow } from './support/calls.js';
import { eventually } from './support/process.js';
import { killOne } from './support/processes.js';
import { addModel, addUpstream, stubPrices } from './support/stub-models.js';
import { type Mode, modes, startSystem, type System } from './support/system.js';
import type { Fault, Script } from './upstream/script.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from './upstream/stub-upstream.js';

const maxTokens = 100;
const sentence = 'It was a bright cold day in April, and the clocks were striking thirteen; Winston Smith slipped quickly through the glass doors.';
/** What the upstream reports, where it gets to report. */
const usage = { input: 12, cacheRead: 3, output: 34 };
const deltas = 5;
const deltaChars = 8;
/** What has arrived after so many deltas. */
const part = sentence.slice(0, deltas * deltaChars);

interface Tokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly output: number;
}

/** What must come of one combination. */
interface Expected {
  readonly ending: string;
  readonly detail: string;
  readonly source: 'reported' | 'estimated';
  readonly quarantined?: boolean;
  readonly tokens: Tokens;
  readonly free?: boolean;
  /** Of the HTTP answer; absent where the caller left, and need not have got any. */
  readonly status?: number;
  readonly text?: string;
  readonly isComplete: boolean;
  readonly hasError?: boolean;
}

interface Case {
  /** The row of the table. */
  readonly row: string;
  readonly what: string;
  readonly script: (upstream: 'cc' | 'm') => Script;
  readonly leave?: 'when-asked' | 'after-part' | 'in-the-middle';
  readonly expected: (combination: Combination) => Expected;
  readonly inDistributed?: boolean;
}

/** So many frames that just `part` has arrived: the first ones say who answers, and open the block. */
const framesOf = (upstream: 'cc' | 'm'): number => deltas + (upstream === 'cc' ? 1 : 3);
const breaksOff = (fault: (frames: number) => Fault, frames = framesOf) => (upstream: 'cc' | 'm'): Script => ({
  blocks: [{ type: 'text', text: sentence }],
  deltaChars,
  usage,
  fault: fault(frames(upstream)),
});
const stalls = breaksOff((afterFrames) => ({ kind: 'stall', afterFrames }));
const lingers = breaksOff((afterFrames) => ({ kind: 'stall', afterFrames, signsOfLife: true }));
const errorFrame = (afterFrames: number): Fault => ({ kind: 'error-frame', afterFrames, error: { type: 'api_error', message: 'Broken.', param: null, code: null } });

const reported: Tokens = usage;
/** The tokenizer's count, or the running one. A messages upstream reports its input at the start. */
const ours = (upstream: 'cc' | 'm', text: string, count: 'exact' | 'running'): Tokens => {
  const prompt = 4 + (count === 'exact' ? countTokens(promptText) : Math.ceil(Buffer.byteLength(promptText) / 4));
  const output = count === 'exact' ? countTokens(text) : Math.ceil(Buffer.byteLength(text) / 4);
  return upstream === 'm' ? { input: usage.input, cacheRead: usage.cacheRead, output } : { input: prompt, cacheRead: 0, output };
};
const finished = { source: 'reported', tokens: reported, status: 200, text: sentence, isComplete: true } as const;
/** Nothing was delivered of a whole answer that did not end. */
const broken = (combination: Combination, status: number) =>
  ({ source: 'estimated', tokens: ours(combination.upstream, part, 'exact'), free: !combination.streaming, isComplete: false, hasError: true, ...(combination.streaming ? { status: 200, text: part } : { status, text: '' }) }) as const;

const cases: readonly Case[] = [
  {
    row: 'completed',
    what: 'by the figures of the upstream',
    script: () => ({ blocks: [{ type: 'text', text: sentence }], usage }),
    expected: () => ({ ending: 'completed', detail: '', ...finished }),
    inDistributed: true,
  },
  {
    row: 'completed',
    what: 'by our count where the upstream gave none',
    script: () => ({ blocks: [{ type: 'text', text: sentence }], usage: 'none' }),
    // A messages upstream cannot leave its input away; the zero that it says in its place is no input of any call.
    expected: ({ upstream }) => ({
      ...finished,
      ending: 'completed',
      detail: upstream === 'm' ? 'input_zero' : '',
      source: 'estimated',
      quarantined: upstream === 'm',
      tokens: ours('cc', sentence, 'exact'),
    }),
  },
  {
    row: 'completed',
    what: 'by our count where the figures of the upstream are absurd',
    script: () => ({ blocks: [{ type: 'text', text: sentence }], usage: { input: -5, output: 1e12 } }),
    expected: () => ({ ...finished, ending: 'completed', detail: 'not_a_count', source: 'estimated', quarantined: true, tokens: ours('cc', sentence, 'exact') }),
  },
  {
    row: 'max_tokens',
    what: 'at its output cap',
    script: (upstream) => ({ blocks: [{ type: 'text', text: sentence }], usage: { ...usage, output: maxTokens }, stopReason: upstream === 'cc' ? 'length' : 'max_tokens' }),
    expected: () => ({ ...finished, ending: 'max_tokens', detail: '', tokens: { ...reported, output: maxTokens } }),
  },
  {
    row: 'client_gone',
    what: 'before the model began to answer, is free',
    script: () => ({ fault: { kind: 'slow-headers', delayMs: 20_000 } }),
    leave: 'when-asked',
    expected: () => ({ ending: 'client_gone', detail: '', source: 'estimated', tokens: { input: 0, cacheRead: 0, output: 0 }, free: true, isComplete: false }),
  },
  {
    row: 'client_gone',
    what: 'long before the end, is charged up to the leaving',
    script: lingers,
    leave: 'after-part',
    expected: ({ upstream }) => ({ ending: 'client_gone', detail: '', source: 'estimated', tokens: ours(upstream, part, 'running'), isComplete: false }),
  },
  {
    row: 'client_gone',
    what: 'shortly before the end, is charged by the figures of the upstream',
    script: () => ({ blocks: [{ type: 'text', text: part }], deltaChars, usage, frameDelayMs: 120 }),
    leave: 'in-the-middle',
    expected: () => ({ ending: 'client_gone', detail: '', source: 'reported', tokens: reported, isComplete: false }),
    inDistributed: true,
  },
  {
    row: 'upstream_error_before_output',
    what: 'as an answer of its own, is free',
    script: () => ({ fault: { kind: 'status', status: 500, body: { type: 'error', error: { type: 'api_error', message: 'no', code: null, param: null } } } }),
    expected: () => ({
      ending: 'upstream_error_before_output',
      detail: 'upstream_failed',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      status: 502,
      text: '',
      isComplete: false,
      hasError: true,
    }),
  },
  {
    row: 'upstream_error_before_output',
    what: 'within its answer, is free',
    script: breaksOff(errorFrame, () => 1),
    expected: (combination) => ({ ...broken(combination, 502), ending: 'upstream_error_before_output', detail: 'upstream_failed', tokens: ours(combination.upstream, '', 'exact'), free: true, text: '' }),
  },
  {
    row: 'upstream_error_after_output',
    what: 'by an error in its answer',
    script: breaksOff(errorFrame),
    expected: (combination) => ({ ...broken(combination, 502), ending: 'upstream_error_after_output', detail: 'upstream_failed' }),
    inDistributed: true,
  },
  {
    row: 'upstream_error_after_output',
    what: 'by a broken frame',
    script: breaksOff((afterFrames) => ({ kind: 'malformed-json', afterFrames })),
    expected: (combination) => ({ ...broken(combination, 502), ending: 'upstream_error_after_output', detail: 'upstream_failed' }),
  },
  {
    row: 'timeout',
    what: 'before output, is free',
    script: () => ({ fault: { kind: 'slow-headers', delayMs: 20_000 } }),
    expected: () => ({
      ending: 'timeout',
      detail: 'upstream_timeout',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      status: 504,
      text: '',
      isComplete: false,
      hasError: true,
    }),
  },
  {
    row: 'timeout',
    what: 'in the middle of an answer',
    script: stalls,
    expected: (combination) => ({ ...broken(combination, 504), ending: 'timeout', detail: 'upstream_timeout' }),
  },
];

/** Rows whose cases are written out below, for they need more than an upstream. */
const rowsBelow = ['gateway_error', 'gateway_lost'];

it('covers every row of docs/charging.md', () => {
  const page = readFileSync(new URL('../docs/charging.md', import.meta.url), 'utf8');
  const [table] = /\| Ending \|[^]*?\n\n/.exec(page)!;
  const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]!);
  expect(rows.length).toBeGreaterThan(5);
  expect([...new Set([...cases.map(({ row }) => row), ...rowsBelow])].sort()).toEqual(rows.sort());
});

describe.each(modes)('an ending, %s', (mode: Mode) => {
  let system: System;
  let stub: StubUpstream;
  let accountId: string;
  let calls = 0;

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem(mode, {
      TOLLGATE_GATEWAY_READ_ON_TIME: '3s',
      TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
      TOLLGATE_INFERENCE_IDLE_TIMEOUT: '3s',
      TOLLGATE_INFERENCE_FIRST_TOKEN_TIMEOUT: '3s',
      TOLLGATE_INFERENCE_CONNECTIONS_MAX: '8',
      TOLLGATE_METERING_LEASE: '2s',
      TOLLGATE_METERING_LOST_GRACE: '0ms',
      TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
    });
    await addUpstream(system, 'cc', 'chat-completions', stub.baseUrl, stubApiKey);
    await addUpstream(system, 'm', 'messages', stub.baseUrl, stubApiKey);
    for (const upstream of ['cc', 'm']) {
      await addModel(system, `${upstream}/case`, upstream, `case-${upstream}`);
      await addModel(system, `${upstream}/filler`, upstream, 'filler');
    }
    accountId = (await system.json<{ id: string }>('account', 'list')).id;
    await eventually(async () => ((await (await get(system, '/v1/models', system.firstKey)).text()).includes('m/filler') ? true : undefined));
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  const spent = async (): Promise<bigint> => BigInt((await system.json<{ spent_nano_usd: string }>('balance', 'show', '--account', accountId)).spent_nano_usd);

  /** The settled records of calls by the ids that their callers gave them, once nothing is held any more. */
  async function recordsOf(clientRequestIds: readonly string[]): Promise<Map<string, UsageRow>> {
    return eventually(async () => {
      const lines = (await system.cli('usage', 'list', '--limit', '100', '--json', '--account', accountId)).trim().split('\n');
      const rows = lines.map((line) => JSON.parse(line) as UsageRow & { client_request_id: string }).filter((row) => clientRequestIds.includes(row.client_request_id));
      const balance = await system.json<{ held_nano_usd: string }>('balance', 'show', '--account', accountId);
      if (rows.length < clientRequestIds.length || rows.some((row) => row.settled_at === null) || balance.held_nano_usd !== '0') return undefined;
      return new Map(rows.map((row) => [row.client_request_id, row]));
    }, 60_000);
  }

  /** What the calls in flight had used at their last checkpoints. */
  const checkpoints = async (): Promise<string[]> => {
    const lines = (await system.cli('balance', 'holds', '--json', '--account', accountId)).trim();
    return lines === '' ? [] : lines.split('\n').map((line) => (JSON.parse(line) as { checkpoint_nano_usd: string }).checkpoint_nano_usd).sort();
  };

  const costOf = ({ input, cacheRead, output }: Tokens): bigint => BigInt(input) * stubPrices.input + BigInt(cacheRead) * stubPrices.cacheRead + BigInt(output) * stubPrices.output;
  /** Of a whole answer nothing would be charged if its gateway vanished. */
  const partCosts = combinations.map(({ upstream, streaming }) => (streaming ? String(costOf(ours(upstream, part, 'running'))) : '0')).sort();

  function start(leaving?: AbortController, onText?: (text: string) => void): { ids: string[]; answers: Promise<Seen[]> } {
    const ids = combinations.map(() => `case-${(calls += 1)}`);
    const options = { maxTokens, ...(leaving === undefined ? {} : { leaving }), ...(onText === undefined ? {} : { onText }) };
    return { ids, answers: Promise.all(combinations.map((combination, index) => call(system, system.firstKey, combination, { ...options, clientRequestId: ids[index]! }))) };
  }

  /** Compares everything about each call, and the balance with all of them. */
  async function check(ids: readonly string[], answers: readonly Seen[], spentBefore: bigint, expected: (combination: Combination) => Expected): Promise<void> {
    const records = await recordsOf(ids);
    let total = 0n;
    for (const [index, combination] of combinations.entries()) {
      const { status, text, isComplete, hasError = false, free = false, quarantined = false, ...wanted } = expected(combination);
      const seen = answers[index]!;
      const record = records.get(ids[index]!)!;
      const charge = free ? 0n : costOf(wanted.tokens);
      total += charge;
      expect({
        combination,
        ending: record.ending,
        detail: record.ending_detail,
        source: record.token_source,
        quarantined: record.quarantined,
        tokens: { input: record.input_tokens, cacheRead: record.cache_read_tokens, output: record.output_tokens },
        charge: record.charge_nano_usd,
        captured: record.captured_nano_usd,
        shortfall: record.shortfall_nano_usd,
        isComplete: seen.isComplete,
        ...(status === undefined ? {} : { status: seen.status === 529 || seen.status === 503 ? 503 : seen.status, hasError: seen.error !== undefined, requestId: seen.requestId }),
        ...(text === undefined ? {} : { text: seen.text }),
      }).toEqual({
        combination,
        ...wanted,
        quarantined,
        charge: String(charge),
        captured: String(charge),
        shortfall: '0',
        isComplete,
        ...(status === undefined ? {} : { status, hasError, requestId: record.id }),
        ...(text === undefined ? {} : { text }),
      });
    }
    expect((await spent()) - spentBefore).toBe(total);
  }

  it.each(cases.filter(({ inDistributed }) => mode === 'single' || inDistributed === true))('$row: $what', async ({ script, leave, expected }) => {
    stub.script('case-cc', script('cc'));
    stub.script('case-m', script('m'));
    const spentBefore = await spent();
    const asked = stub.requests.length;
    const leaving = leave === undefined ? undefined : new AbortController();
    let begun = 0;
    const { ids, answers } = start(leaving, () => (begun += 1));
    const requests = () => stub.requests.slice(asked);
    if (leaving !== undefined) await eventually(() => (requests().length === combinations.length ? true : undefined));
    // Those that are asked for whole are as far as the streams, by what their checkpoints say, but their callers see nothing yet.
    if (leave === 'after-part') await eventually(async () => expect(await checkpoints()).toEqual(partCosts) ?? true);
    if (leave === 'in-the-middle') await eventually(() => (begun >= combinations.length ? true : undefined));
    leaving?.abort();
    await check(ids, await answers, spentBefore, expected);
    if (leave === 'when-asked' || leave === 'after-part') {
      for (const { clientLeft } of requests()) expect(await clientLeft).toBe(true);
    }
  }, 120_000);

  it('gateway_error: before output, is free', async () => {
    // Calls of somebody else take all the room that there is for calls of an upstream.
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'other');
    await system.cli('balance', 'deposit', '1', '--account', other);
    const { secret } = await createKey(system, 'other', '--account', other);
    stub.script('filler', lingers('cc'));
    const leaving = new AbortController();
    const asked = stub.requests.length;
    const fillers = (['cc', 'm'] as const).flatMap((upstream) =>
      Array.from({ length: 8 }, (_, index) =>
        call(system, secret, { client: 'chat-completions', streaming: true, upstream }, { maxTokens, leaving, clientRequestId: `filler-${index}`, model: `${upstream}/filler` }),
      ),
    );
    await eventually(() => (stub.requests.length === asked + fillers.length ? true : undefined));
    const spentBefore = await spent();
    const { ids, answers } = start();
    const seen = await answers;
    leaving.abort();
    await Promise.all(fillers);
    await check(ids, seen, spentBefore, () => ({
      ending: 'gateway_error',
      detail: 'overloaded',
      source: 'estimated',
      tokens: { input: 0, cacheRead: 0, output: 0 },
      free: true,
      status: 503,
      text: '',
      isComplete: false,
      hasError: true,
    }));
    await settled(system, other, fillers.length);
  }, 120_000);

  // A single process has no part that can fail alone.
  if (mode === 'distributed') {
    it('gateway_error: in the middle of an answer', async () => {
      stub.script('case-cc', lingers('cc'));
      stub.script('case-m', lingers('m'));
      const spentBefore = await spent();
      const { ids, answers } = start();
      await eventually(async () => expect(await checkpoints()).toEqual(partCosts) ?? true);
      killOne(system, 'inference');
      await check(ids, await answers, spentBefore, (combination) => ({
        ...broken(combination, 503),
        ending: 'gateway_error',
        detail: 'service_unavailable',
        tokens: ours(combination.upstream, part, 'running'),
      }));
      await eventually(async () => ((await fetch(`${system.baseUrl}/readyz`)).status === 200 ? true : undefined), 60_000);
    }, 120_000);
  }

  it('gateway_lost: is charged at its last checkpoint', async () => {
    stub.script('case-cc', lingers('cc'));
    stub.script('case-m', lingers('m'));
    const spentBefore = await spent();
    const { ids, answers } = start();
    await eventually(async () => expect(await checkpoints()).toEqual(partCosts) ?? true);
    if (mode === 'single') await system.kill();
    else killOne(system, 'gateway');
    const seen = await answers;
    if (mode === 'single') await system.start();
    await check(ids, seen, spentBefore, ({ upstream, streaming }) => ({
      ending: 'gateway_lost',
      detail: 'lease_expired',
      source: 'estimated',
      tokens: ours(upstream, part, 'running'),
      free: !streaming,
      isComplete: false,
    }));
  }, 120_000);

  it('leaves books that are right', async () => {
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  });
});
