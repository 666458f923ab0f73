// The table of outcomes in docs/charging.md, row by row: what the caller sees, what is on record, and what it costs to the nano-dollar.
// Each case is called in both formats, streamed and whole, over upstreams of both formats.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { call, type Combination, combinations, type Seen } from '../support/clients/answers.js';
import { createKey, get, nanoUsd, post, settled, type UsageRow } from '../support/clients/calls.js';
import { broken, cases, type Expected, lingers, maxTokens, ours, part, type Tokens, wholeCases } from '../support/outcome-cases.js';
import { eventually } from '../support/systems/process.js';
import { killOne } from '../support/systems/processes.js';
import { addModel, addUpstream, stubPrices } from '../support/stub-models.js';
import { type Mode, modes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

/** Decimal USD in nano-USD. */
/** Rows with separate tests below, because they need more than an upstream. */
const rowsBelow = ['gateway_error', 'gateway_lost'];

it('covers every row of docs/charging.md', () => {
  const page = readFileSync(new URL('../../docs/charging.md', import.meta.url), 'utf8');
  const [table] = /\| Outcome \|[^]*?\n\n/.exec(page)!;
  const rows = [...table.matchAll(/^\| `(\w+)` \|/gm)].map((match) => match[1]!);
  expect(rows.length).toBeGreaterThan(5);
  expect([...new Set([...cases.map(({ row }) => row), ...rowsBelow])].sort()).toEqual(rows.sort());
});

describe.each(modes)('an outcome, %s', (mode: Mode) => {
  let system: System;
  let stub: StubUpstream;
  let accountId: string;
  let calls = 0;

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem(mode, {
      // The limit on calls in flight to an upstream applies to all gateway threads together.
      ...(mode === 'single' ? { TOLLGATE_GATEWAY_THREADS: '2' } : {}),
      // Twice as long as the rest of an answer takes whose client disconnects in the middle of it.
      TOLLGATE_GATEWAY_READ_ON_TIME: '3s',
      TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
      // Longer than the tests wait and the gateway then drains.
      TOLLGATE_INFERENCE_IDLE_TIMEOUT: '6s',
      TOLLGATE_INFERENCE_FIRST_TOKEN_TIMEOUT: '8s',
      TOLLGATE_INFERENCE_CONNECTIONS_MAX: '8',
      // Short, so that calls of a killed gateway are soon lost, but longer than a busy machine pauses.
      TOLLGATE_METERING_LEASE: '5s',
      TOLLGATE_METERING_LOST_GRACE: '0ms',
      TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
    });
    await addUpstream(system, 'cc', 'chat-completions', stub.baseUrl, stubApiKey);
    await addUpstream(system, 'm', 'messages', stub.baseUrl, stubApiKey);
    await addUpstream(system, 'cc-whole', 'chat-completions', stub.baseUrl, stubApiKey, '--whole-answers');
    await addUpstream(system, 'm-whole', 'messages', stub.baseUrl, stubApiKey, '--whole-answers');
    for (const upstream of ['cc', 'm']) {
      await addModel(system, `${upstream}/case`, upstream, `case-${upstream}`);
      await addModel(system, `${upstream}/whole`, `${upstream}-whole`, `case-${upstream}`);
      await addModel(system, `${upstream}/filler`, upstream, 'filler');
    }
    accountId = (await system.json<{ id: string }>('account', 'list')).id;
    await eventually(async () =>
      (await (await get(system, '/v1/models', system.firstKey)).text()).includes('m/filler') ? true : undefined,
    );
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  /** Returns the account's money from GET /v1/key, which starts no process as the command does. */
  async function money(): Promise<{ spent: bigint; held: bigint }> {
    const { balance } = (await (await get(system, '/v1/key', system.firstKey)).json()) as {
      balance: { spent_usd: string; held_usd: string };
    };
    return { spent: nanoUsd(balance.spent_usd), held: nanoUsd(balance.held_usd) };
  }

  const spent = async (): Promise<bigint> => (await money()).spent;

  /** Returns the settled records by the client's own request ids, once nothing is held any more. */
  async function recordsOf(clientRequestIds: readonly string[]): Promise<Map<string, UsageRow>> {
    return eventually(async () => {
      if ((await money()).held !== 0n) return undefined;
      const lines = (await system.cli('usage', 'list', '--limit', '100', '--json', '--account', accountId)).trim().split('\n');
      const rows = lines
        .map((line) => JSON.parse(line) as UsageRow & { client_request_id: string })
        .filter((row) => clientRequestIds.includes(row.client_request_id));
      if (rows.length < clientRequestIds.length || rows.some((row) => row.settled_at === null)) return undefined;
      return new Map(rows.map((row) => [row.client_request_id, row]));
    }, 60_000);
  }

  /** Returns what the calls in flight had used by their last checkpoints. */
  const checkpoints = async (): Promise<string[]> => {
    const lines = (await system.cli('balance', 'holds', '--json', '--account', accountId)).trim();
    return lines === ''
      ? []
      : lines
          .split('\n')
          .map((line) => (JSON.parse(line) as { checkpoint_nano_usd: string }).checkpoint_nano_usd)
          .sort();
  };

  const costOf = ({ input, cacheRead, output }: Tokens): bigint =>
    BigInt(input) * stubPrices.input + BigInt(cacheRead) * stubPrices.cacheRead + BigInt(output) * stubPrices.output;
  /** Whole answers are free if their gateway is lost. */
  const partCosts = combinations
    .map(({ upstream, streaming }) => (streaming ? String(costOf(ours(upstream, part, 'running'))) : '0'))
    .sort();

  /** Waits until every call has received its part, and was checkpointed afterwards. */
  async function untilPart(): Promise<void> {
    await eventually(async () => expect(await checkpoints()).toEqual(partCosts) ?? true);
    // The amount does not show how far answers are that are not streamed. They get their parts at the same time as the streams, and there are ten checkpoints
    // per second.
    await sleep(1000);
  }

  function start(
    disconnect?: AbortController,
    onText?: (text: string) => void,
    { list = combinations, model = 'case' }: { list?: readonly Combination[]; model?: string } = {},
  ): { ids: string[]; answers: Promise<Seen[]> } {
    const ids = list.map(() => `case-${(calls += 1)}`);
    const options = { maxTokens, ...(disconnect === undefined ? {} : { disconnect }), ...(onText === undefined ? {} : { onText }) };
    return {
      ids,
      answers: Promise.all(
        list.map((combination, index) =>
          call(system, system.firstKey, combination, {
            ...options,
            clientRequestId: ids[index]!,
            model: `${combination.upstream}/${model}`,
          }),
        ),
      ),
    };
  }

  /** Compares everything about each call, and the balance with all of them. */
  async function check(
    ids: readonly string[],
    answers: readonly Seen[],
    spentBefore: bigint,
    expected: (combination: Combination) => Expected,
    list = combinations,
  ): Promise<void> {
    const records = await recordsOf(ids);
    let total = 0n;
    for (const [index, combination] of list.entries()) {
      const { status, text, isComplete, hasError = false, free = false, quarantined = false, ...wanted } = expected(combination);
      const seen = answers[index]!;
      const record = records.get(ids[index]!)!;
      const charge = free ? 0n : costOf(wanted.tokens);
      total += charge;
      expect({
        combination,
        outcome: record.outcome,
        detail: record.outcome_detail,
        source: record.token_source,
        quarantined: record.quarantined,
        tokens: { input: record.input_tokens, cacheRead: record.cache_read_tokens, output: record.output_tokens },
        charge: record.charge_nano_usd,
        captured: record.captured_nano_usd,
        shortfall: record.shortfall_nano_usd,
        isComplete: seen.isComplete,
        ...(status === undefined
          ? {}
          : {
              status: seen.status === 529 || seen.status === 503 ? 503 : seen.status,
              hasError: seen.error !== undefined,
              requestId: seen.requestId,
            }),
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

  it.each(cases.filter(({ inDistributed }) => mode === 'single' || inDistributed === true))(
    '$row: $what',
    async ({ script, leave, expected }) => {
      stub.script('case-cc', script('cc'));
      stub.script('case-m', script('m'));
      const spentBefore = await spent();
      const asked = stub.requests.length;
      const disconnect = leave === undefined ? undefined : new AbortController();
      let begun = 0;
      const { ids, answers } = start(disconnect, () => (begun += 1));
      const requests = () => stub.requests.slice(asked);
      if (disconnect !== undefined) await eventually(() => (requests().length === combinations.length ? true : undefined));
      // Neither a client nor an operator can see that the status lines have arrived.
      if (leave === 'when-accepted') await sleep(1500);
      if (leave === 'after-part') await untilPart();
      if (leave === 'in-the-middle') await eventually(() => (begun >= combinations.length ? true : undefined));
      disconnect?.abort();
      await check(ids, await answers, spentBefore, expected);
      if (leave !== undefined && leave !== 'in-the-middle') {
        for (const { clientLeft } of requests()) expect(await clientLeft).toBe(true);
      }
    },
    120_000,
  );

  // The setting of the upstream is the same in both modes.
  if (mode === 'single')
    it.each(wholeCases)('of an answer that is not streamed: $what', async ({ script, disconnects, expected }) => {
      const list = combinations.filter(({ streaming }) => !streaming);
      stub.script('case-cc', script);
      stub.script('case-m', script);
      const spentBefore = await spent();
      const asked = stub.requests.length;
      const disconnect = disconnects ? new AbortController() : undefined;
      const { ids, answers } = start(disconnect, undefined, { list, model: 'whole' });
      await eventually(() => (stub.requests.length === asked + list.length ? true : undefined));
      expect(stub.requests.slice(asked).map(({ body }) => body['stream'])).toEqual(list.map(() => undefined));
      disconnect?.abort();
      await check(ids, await answers, spentBefore, () => expected, list);
    });

  it('rejected: a request for more answers than the model gives, is free', async () => {
    const spentBefore = await spent();
    const clientRequestId = `case-${(calls += 1)}`;
    const body = { model: 'm/case', n: 2, max_tokens: maxTokens, messages: [{ role: 'user', content: 'Hello' }] };
    const response = await post(system, '/v1/chat/completions', system.firstKey, body, { headers: { 'x-request-id': clientRequestId } });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param: 'n' } }]);
    const record = (await recordsOf([clientRequestId])).get(clientRequestId);
    expect(record).toMatchObject({ outcome: 'rejected', outcome_detail: 'unsupported_field', charge_nano_usd: '0' });
    expect(await spent()).toBe(spentBefore);
  });

  it('upstream_error_before_output: a call that its upstream has no capacity for is free', async () => {
    // Calls of another account use up the calls in flight that the upstream may have.
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'other');
    await system.cli('balance', 'deposit', '1', '--account', other);
    const { secret } = await createKey(system, 'other', '--account', other);
    stub.script('filler', lingers('cc'));
    const disconnect = new AbortController();
    const asked = stub.requests.length;
    const fillers = (['cc', 'm'] as const).flatMap((upstream) =>
      Array.from({ length: 8 }, (_, index) =>
        call(
          system,
          secret,
          { client: 'chat-completions', streaming: true, upstream },
          { maxTokens, disconnect, clientRequestId: `filler-${index}`, model: `${upstream}/filler` },
        ),
      ),
    );
    await eventually(() => (stub.requests.length === asked + fillers.length ? true : undefined));
    const spentBefore = await spent();
    const { ids, answers } = start();
    const seen = await answers;
    disconnect.abort();
    await Promise.all(fillers);
    await check(ids, seen, spentBefore, () => ({
      outcome: 'upstream_error_before_output',
      detail: 'upstream_overloaded',
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

  // In a single process no part can fail by itself.
  if (mode === 'distributed') {
    it('gateway_error: in the middle of an answer', async () => {
      stub.script('case-cc', lingers('cc'));
      stub.script('case-m', lingers('m'));
      const spentBefore = await spent();
      const { ids, answers } = start();
      await untilPart();
      killOne(system, 'inference');
      await check(ids, await answers, spentBefore, (combination) => ({
        ...broken(combination, 503),
        outcome: 'gateway_error',
        detail: 'service_unavailable',
        tokens: ours(combination.upstream, part, 'running'),
      }));
      // Readiness is checked periodically, so it may not reflect the loss yet. Counting tokens is free and needs inference.
      const counts = async () => {
        const headers = { 'content-type': 'application/json', 'x-api-key': system.firstKey, 'anthropic-version': '2023-06-01' };
        const body = JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] });
        return (await fetch(`${system.baseUrl}/v1/messages/count_tokens`, { method: 'POST', headers, body })).status === 200
          ? true
          : undefined;
      };
      await eventually(counts, 60_000);
    }, 120_000);
  }

  it('gateway_lost: is charged at its last checkpoint', async () => {
    stub.script('case-cc', lingers('cc'));
    stub.script('case-m', lingers('m'));
    const spentBefore = await spent();
    const { ids, answers } = start();
    await untilPart();
    if (mode === 'single') await system.kill();
    else killOne(system, 'gateway');
    const seen = await answers;
    if (mode === 'single') await system.start();
    await check(ids, seen, spentBefore, ({ upstream, streaming }) => ({
      outcome: 'gateway_lost',
      detail: 'lease_expired',
      source: 'estimated',
      tokens: ours(upstream, part, 'running'),
      free: !streaming,
      isComplete: false,
    }));
  }, 120_000);

  it('leaves correct books', async () => {
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  });
});
