// When an upstream fails before it answers, the next one is tried. The record lists each attempt, in the API, the console's API and the operator's command,
// and only the answer is charged. Members of the account see how attempts ended, but not at which upstream they were.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat, get, readSse, settled, sumOfCharges } from '../support/clients/calls.js';
import { addUser, Browser, password } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { addModel, addUpstream, stubPrices } from '../support/stub-models.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

/** A single record. */
interface Shown {
  readonly outcome: string;
  readonly outcome_detail: string | null;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly charge_usd: string;
  readonly tokens: { readonly input: number; readonly output: number };
  readonly attempts: readonly Attempt[];
}

interface Attempt {
  readonly number: number;
  readonly started_at: string;
  readonly duration_ms: number;
  readonly outcome: string;
  readonly reason: string | null;
  readonly upstream?: { readonly id: string; readonly model: string };
  readonly http_status?: number | null;
  readonly upstream_request_id?: string | null;
  readonly chosen_by?: string;
}

/** The fields of an attempt that every view shows. */
const publicPart = ({ number, started_at, duration_ms, outcome, reason }: Attempt) => ({
  number,
  started_at,
  duration_ms,
  outcome,
  reason,
});
const inShort = ({ outcome, reason, upstream, http_status }: Attempt) => [upstream?.id, outcome, reason, http_status];

describe.each(modes)('attempts at upstreams, %s', (mode) => {
  let system: System;
  let broken: StubUpstream;
  let spare: StubUpstream;
  let operator: Browser;
  let member: Browser;
  let account: string;
  let accountId: string;

  beforeAll(async () => {
    [broken, spare] = await Promise.all([startStubUpstream(), startStubUpstream()]);
    system = await startSystem(mode);
    await addUpstream(system, 'broken', 'chat-completions', broken.baseUrl, stubApiKey);
    // The same server, which is given up after a second. A busy machine may take that long for an answer of the others.
    await addUpstream(system, 'mute', 'chat-completions', broken.baseUrl, stubApiKey, '--first-token-timeout', '1s');
    await addUpstream(system, 'spare', 'messages', spare.baseUrl, stubApiKey);
    await addUpstream(system, 'nobody', 'chat-completions', 'http://127.0.0.1:9/v1', stubApiKey);
    const models: Record<string, [string, string][]> = {
      'first-500': [
        ['broken', 'status-500'],
        ['spare', 'text'],
      ],
      'first-refused': [
        ['nobody', 'x'],
        ['spare', 'text'],
      ],
      'first-silent': [
        ['mute', 'slow-headers'],
        ['spare', 'text'],
      ],
      'all-fail': [
        ['broken', 'status-401'],
        ['nobody', 'x'],
        ['spare', 'status-529'],
      ],
      refuses: [
        ['broken', 'status-400'],
        ['spare', 'text'],
      ],
      'breaks-off': [
        ['broken', 'status-503'],
        ['spare', 'cut'],
      ],
      'breaks-off-whole': [
        ['broken', 'cut'],
        ['spare', 'text'],
      ],
      hedged: [
        ['broken', 'slow-headers'],
        ['spare', 'text'],
      ],
      one: [['spare', 'text']],
      'passed-over': [
        ['broken', 'text'],
        ['spare', 'text'],
      ],
    };
    for (const [name, targets] of Object.entries(models)) {
      await addModel(system, `test/${name}`, '', '', {
        targets: targets.map(([upstream_id, upstream_model]) => ({ upstream_id, upstream_model })),
        ...(name === 'hedged' ? { hedge_after_ms: 100 } : {}),
      });
    }
    await eventually(async () =>
      (await (await get(system, '/v1/models', system.firstKey)).text()).includes('test/passed-over') ? true : undefined,
    );
    ({ account_id: accountId } = (await (await get(system, '/v1/key', system.firstKey)).json()) as { account_id: string });
    account = `/accounts/${accountId}`;
    await addUser(system, 'operator@example.com', password, '--name', 'Olga', '--operator');
    await addUser(system, 'member@example.com', password, '--name', 'Mel');
    for (const email of ['operator@example.com', 'member@example.com'])
      await system.cli('member', 'put', email, '--role', 'viewer', '--account', accountId);
    [operator, member] = [new Browser(system), new Browser(system)];
    await operator.signIn('operator@example.com', password);
    await member.signIn('member@example.com', password);
  }, 120_000);

  afterAll(async () => {
    await system?.stop();
    await Promise.all([broken?.stop(), spare?.stop()]);
  });

  /** Returns the record of a call as each of the views shows it; common fields must be equal. */
  async function recordOf(response: Response, { overlap = false } = {}): Promise<{ seen: Shown; byOperator: Shown }> {
    const id = response.headers.get('x-request-id')!;
    const seen = await eventually(async () => {
      const found = await get(system, `/v1/usage/${id}`, system.firstKey);
      return found.status === 200 ? ((await found.json()) as Shown) : undefined;
    });
    const byOperator = await operator.get<Shown>(`${account}/usage/records/${id}`);
    const byMember = await member.get<Shown>(`${account}/usage/records/${id}`);
    expect(byMember.attempts).toEqual(seen.attempts);
    expect(byOperator.attempts.map(publicPart)).toEqual(seen.attempts);
    expect(JSON.stringify([seen, byMember])).not.toMatch(/broken|mute|spare|nobody|req_stub|http_status|"upstream"|status-|slow-headers/);
    const [shown] = (await system.cli('usage', 'show', id, '--json'))
      .trim()
      .split('\n')
      .map(
        (line) => JSON.parse(line) as { attempts: { upstream_id: string; started_at: string; reason: string | null; answered: boolean }[] },
      );
    expect(shown!.attempts.map(({ upstream_id, started_at, reason }) => [upstream_id, started_at, reason])).toEqual(
      byOperator.attempts.map(({ upstream, started_at, reason }) => [upstream!.id, started_at, reason]),
    );
    // Each attempt begins when the previous one has ended, and the last one ends with the call.
    const spans = seen.attempts.map(
      ({ started_at, duration_ms }) => [Date.parse(started_at), Date.parse(started_at) + duration_ms] as const,
    );
    for (const [index, [began]] of spans.entries())
      expect(began).toBeGreaterThanOrEqual((overlap ? undefined : spans[index - 1]?.[1]) ?? Date.parse(seen.started_at));
    expect(spans.at(-1)?.[1] ?? 0).toBeLessThanOrEqual(Date.parse(seen.started_at) + seen.duration_ms);
    return { seen, byOperator };
  }

  const costOf = ({ tokens: { input, output } }: Shown): string => {
    const nanoUsd = BigInt(input) * stubPrices.input + BigInt(output) * stubPrices.output;
    return `0.${String(nanoUsd).padStart(9, '0')}`.replace(/0+$/, '');
  };

  it.each([
    ['500', 'first-500', ['broken', 'failed', 'upstream_failed', 500]],
    ['a refused connection', 'first-refused', ['nobody', 'failed', 'upstream_unavailable', null]],
    ['silence', 'first-silent', ['mute', 'failed', 'upstream_timeout', null]],
  ])('are both on record if the first fails by %s and the second answers, and only the second is charged', async (_how, model, first) => {
    for (const stream of [true, false]) {
      const before = spare.requests.length;
      const response = await chat(system, system.firstKey, { model: `test/${model}`, stream });
      expect(response.status).toBe(200);
      if (stream) expect((await readSse(response)).at(-1)?.data).toBe('[DONE]');
      else expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hello from the stub upstream.' } }] });
      expect(spare.requests).toHaveLength(before + 1);
      const { seen, byOperator } = await recordOf(response);
      expect(byOperator.attempts.map(inShort)).toEqual([first, ['spare', 'answered', null, null]]);
      expect(byOperator).toMatchObject({ outcome: 'completed', upstream: { id: 'spare', model: 'text' } });
      expect(byOperator.attempts[1]!.upstream_request_id).toBe('req_stub');
      expect(seen.charge_usd).toBe(costOf(seen));
      expect(seen.charge_usd).not.toBe('0');
      if (model === 'first-silent') expect(seen.attempts[0]!.duration_ms).toBeGreaterThanOrEqual(990);
    }
  });

  it('are all on record if all of them fail, and nothing is charged', async () => {
    for (const stream of [true, false]) {
      const response = await chat(system, system.firstKey, { model: 'test/all-fail', stream });
      expect(response.status).toBeGreaterThanOrEqual(500);
      expect(response.headers.get('content-type')).toContain('application/json');
      expect(await response.json()).toMatchObject({ error: { reason: 'upstream_overloaded' } });
      const { seen, byOperator } = await recordOf(response);
      expect(byOperator.attempts.map(inShort)).toEqual([
        ['broken', 'failed', 'upstream_unavailable', 401],
        ['nobody', 'failed', 'upstream_unavailable', null],
        ['spare', 'failed', 'upstream_overloaded', 529],
      ]);
      expect(seen).toMatchObject({ outcome: 'upstream_error_before_output', outcome_detail: 'upstream_overloaded', charge_usd: '0' });
    }
  });

  it('end with the first that rejects the request itself', async () => {
    const response = await chat(system, system.firstKey, { model: 'test/refuses' });
    expect(response.status).toBe(400);
    const { byOperator } = await recordOf(response);
    expect(byOperator.attempts.map(inShort)).toEqual([['broken', 'failed', 'upstream_rejected', 400]]);
  });

  it('show which target was skipped because its format cannot honour the request', async () => {
    const before = broken.requests.length;
    const response = await fetch(`${system.baseUrl}/v1/messages`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': system.firstKey, 'anthropic-version': '2023-06-01' },
      body: JSON.stringify({
        model: 'test/passed-over',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
        tools: [{ type: 'bash_20250124', name: 'bash' }],
      }),
    });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Hello from the stub')]);
    const { byOperator } = await recordOf(response);
    expect(byOperator.attempts.map(inShort)).toEqual([
      ['broken', 'failed', 'unsupported_field', null],
      ['spare', 'answered', null, null],
    ]);
    expect(broken.requests).toHaveLength(before);
  });

  it('show that the answer broke off, and what was delivered is charged', async () => {
    const response = await chat(system, system.firstKey, { model: 'test/breaks-off', stream: true });
    expect(await response.text()).toContain('"error"');
    const { seen, byOperator } = await recordOf(response);
    expect(byOperator.attempts.map(inShort)).toEqual([
      ['broken', 'failed', 'upstream_overloaded', 503],
      ['spare', 'broke_off', 'upstream_failed', null],
    ]);
    expect(byOperator.attempts[1]!.upstream_request_id).toBe('req_stub');
    expect(seen).toMatchObject({ outcome: 'upstream_error_after_output', charge_usd: costOf(seen) });
  });

  it('include a whole answer that broke off and was started again at the next upstream, and only the second is charged', async () => {
    const response = await chat(system, system.firstKey, { model: 'test/breaks-off-whole' });
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: 'Hello from the stub upstream.' } }] });
    const { seen, byOperator } = await recordOf(response);
    expect(byOperator.attempts.map(inShort)).toEqual([
      ['broken', 'broke_off', 'upstream_failed', 200],
      ['spare', 'answered', null, null],
    ]);
    expect(seen).toMatchObject({ outcome: 'completed', charge_usd: costOf(seen) });
  });

  it.each([true, false])('include both of a hedged call, of which only the one that answered is charged (streamed: %s)', async (stream) => {
    const response = await chat(system, system.firstKey, { model: 'test/hedged', stream });
    expect(await response.text()).toContain('Hello fr');
    const { seen, byOperator } = await recordOf(response, { overlap: true });
    expect(byOperator.attempts.map(inShort)).toEqual([
      ['broken', 'failed', 'cancelled', null],
      ['spare', 'answered', null, null],
    ]);
    expect(byOperator.attempts.map(({ chosen_by }) => chosen_by)).toEqual(['weight', 'hedge']);
    expect(seen).toMatchObject({ outcome: 'completed', charge_usd: costOf(seen) });
  });

  it('are those that were known when the client disconnected', async () => {
    await addModel(system, 'test/left', '', '', {
      targets: [
        { upstream_id: 'nobody', upstream_model: 'x' },
        { upstream_id: 'spare', upstream_model: 'slow-headers' },
      ],
    });
    await eventually(async () =>
      (await (await get(system, '/v1/models', system.firstKey)).text()).includes('test/left') ? true : undefined,
    );
    const before = spare.requests.length;
    const left = new AbortController();
    const calling = chat(system, system.firstKey, { model: 'test/left', stream: true }, { signal: left.signal }).catch(() => undefined);
    await eventually(async () => (spare.requests.length > before ? true : undefined));
    left.abort();
    await calling;
    const { data } = await eventually(async () => {
      const found = await operator.get<{ data: { request_id: string }[] }>(`${account}/usage/records?model=test%2Fleft`);
      return found.data.length === 1 ? found : undefined;
    });
    const { attempts } = await operator.get<Shown>(`${account}/usage/records/${data[0]!.request_id}`);
    expect(attempts.map(inShort)).toEqual([
      ['nobody', 'failed', 'upstream_unavailable', null],
      ['spare', 'abandoned', null, null],
    ]);
  });

  it('consist of one for an ordinary call, and are not in lists and exports', async () => {
    const response = await chat(system, system.firstKey, { model: 'test/one' });
    await response.text();
    const { byOperator } = await recordOf(response);
    expect(byOperator.attempts).toEqual([
      {
        ...publicPart(byOperator.attempts[0]!),
        outcome: 'answered',
        reason: null,
        upstream: { id: 'spare', model: 'text' },
        http_status: null,
        upstream_request_id: null,
        chosen_by: 'weight',
        credential: null,
      },
    ]);
    const { data } = await operator.get<{ data: object[] }>(`${account}/usage/records`);
    for (const record of data) expect(record).not.toHaveProperty('attempts');
  });

  it('leave correct books', async () => {
    const { rows, balance } = await settled(system, accountId);
    expect(rows.length).toBeGreaterThanOrEqual(13);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true });
  });
});
