// Three vendors under steady load, one of which at a time is killed, hangs, becomes slow, refuses calls, fails all or every second call, sends garbage or
// half answers, or has a bad credential: calls still succeed, none waits for two silent vendors, a dead vendor gets trial calls only, and the charges are
// those of the answers. TOLLGATE_TEST_CHAOS=all runs each fault at each vendor, for longer.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chat, get, settled, sumOfCharges, type UsageRow } from '../support/clients/calls.js';
import { runCommand } from '../support/clients/command-runner.js';
import { eventually } from '../support/systems/process.js';
import { addModel, addUpstream, stubPrices } from '../support/stub-models.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import type { Fault, Script } from '../upstream/script.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

const isLong = process.env['TOLLGATE_TEST_CHAOS'] === 'all';
const firstTokenMs = 1500;
const threads = Math.max(1, Number(process.env['TOLLGATE_TEST_GATEWAY_THREADS'] ?? '0'));
const workers = 6;
const failuresMax = 3;
/** The calls from which the share of failed and slow ones counts. */
const failureCallsMin = 10;
const ejectionMs = 500;
const windowMs = 2000;
/** Later than the half of the first-token timeout from which an answer is slow. */
const slowMs = 1000;

const secondKey = 'sk-stub-second';
const limitedKey = 'sk-stub-limited';

const text = 'Hello from the stub upstream.';
const usage = { input: 7, output: 8 };
const healthy: Script = { blocks: [{ type: 'text', text }], usage };
const costNanoUsd = BigInt(usage.input) * stubPrices.input + BigInt(usage.output) * stubPrices.output;

interface Disorder {
  readonly name: string;
  /** Absent: the vendor is killed. */
  readonly script?: Script;
  /** The scripts of its calls in turn, in place of one for all. */
  readonly scripts?: readonly Script[];
  /** A stream that breaks off after output cannot succeed: with this disorder, no call is streamed. */
  readonly wholeOnly?: boolean;
  /** Only streams show when their answer begins. */
  readonly streamsOnly?: boolean;
  /** Calls at the vendor before it is ejected, and at each of its trials. */
  readonly callsUntilEjected?: number;
  readonly callsPerTrial?: number;
  /** Whether the vendor stays in service. */
  readonly isHarmless?: boolean;
  /** How many callers make calls, if fewer than usual. */
  readonly callers?: number;
  /** How long the fault lasts in the short run. */
  readonly ms?: number;
}

const oops: Fault = { kind: 'status', status: 500, body: { error: { message: 'Oops.' } } };

const failing = (name: string, fault: Fault, rest: Partial<Disorder> = {}): Disorder => ({ name, script: { ...healthy, fault }, ...rest });
const disorders: readonly Disorder[] = [
  { name: 'killed', wholeOnly: true },
  failing('silent', { kind: 'slow-headers', delayMs: 60_000 }, { ms: 2 * firstTokenMs }),
  { name: 'slow', script: { ...healthy, frameDelayMs: 20 }, isHarmless: true },
  failing('limited', { kind: 'status', status: 429, body: { error: { message: 'Slow down.' } }, headers: { 'retry-after': '1' } }),
  failing('failing', oops),
  failing('sending garbage', { kind: 'status', status: 200, body: '<html>Welcome</html>' }),
  failing('sending half answers', { kind: 'cut', afterBytes: 200 }, { wholeOnly: true }),
  {
    name: 'failing every second call',
    scripts: Array.from({ length: 10_000 }, (_, number) => (number % 2 === 0 ? healthy : { ...healthy, fault: oops })),
    callsUntilEjected: 2 * failureCallsMin,
    callsPerTrial: 3,
    // Each good trial returns it to service, and then all callers may call it before one fails: more of them would pass the bound.
    callers: 2,
    ms: 2000,
  },
  failing(
    'beginning its answers late',
    { kind: 'slow-headers', delayMs: slowMs },
    { streamsOnly: true, callsUntilEjected: failureCallsMin, ms: 2500 },
  ),
];

interface Answer {
  readonly id: string;
  readonly status: number;
  readonly isComplete: boolean;
  readonly body: string;
}

describe.each(modes)('calls during faults of vendors, %s', (mode) => {
  let system: System;
  let vendors: StubUpstream[];
  let accountId: string;
  const answers: Answer[] = [];

  beforeAll(async () => {
    const moreKeys = { [secondKey]: 'accepted', [limitedKey]: 'limited' } as const;
    vendors = await Promise.all([startStubUpstream({ moreKeys }), startStubUpstream(), startStubUpstream()]);
    system = await startSystem(mode, {
      TOLLGATE_INFERENCE_FIRST_TOKEN_TIMEOUT: `${firstTokenMs}ms`,
      TOLLGATE_INFERENCE_FAILURES_MAX: String(failuresMax),
      TOLLGATE_INFERENCE_FAILURE_CALLS_MIN: String(failureCallsMin),
      TOLLGATE_INFERENCE_FAILURE_WINDOW: `${windowMs}ms`,
      // Reached by every second call failing.
      TOLLGATE_INFERENCE_FAILURE_PERCENT_MAX: '30',
      TOLLGATE_INFERENCE_EJECTION_BASE: `${ejectionMs}ms`,
      TOLLGATE_INFERENCE_EJECTION_MAX: `${ejectionMs}ms`,
    });
    await addUpstream(system, 'a', 'chat-completions', vendors[0]!.baseUrl, stubApiKey);
    await addUpstream(system, 'b', 'messages', vendors[1]!.baseUrl, stubApiKey);
    await addUpstream(system, 'c', 'chat-completions', vendors[2]!.baseUrl, stubApiKey, '--whole-answers');
    await addModel(system, 'test/chaos', '', '', {
      targets: ['a', 'b', 'c'].map((upstream_id) => ({ upstream_id, upstream_model: 'm', priority: 0, weight: 1 })),
    });
    await eventually(async () =>
      (await (await get(system, '/v1/models', system.firstKey)).text()).includes('test/chaos') ? true : undefined,
    );
    ({ account_id: accountId } = (await (await get(system, '/v1/key', system.firstKey)).json()) as { account_id: string });
  }, 120_000);

  afterAll(async () => {
    await system?.stop();
    await Promise.all(vendors.map((vendor) => vendor.stop()));
  });

  async function call(stream: boolean): Promise<Answer> {
    const response = await chat(system, system.firstKey, { model: 'test/chaos', stream, max_tokens: 50 });
    const body = await response.text();
    const said = stream
      ? [...body.matchAll(/"content":"([^"]*)"/g)].map(([, piece]) => piece).join('')
      : ((JSON.parse(body) as { choices?: { message: { content: string } }[] }).choices?.[0]?.message.content ?? '');
    const isComplete = said === text && (!stream || body.includes('[DONE]'));
    return { id: response.headers.get('x-request-id')!, status: response.status, isComplete, body };
  }

  /** Calls steadily until `until` resolves. Throws its failure. */
  async function load(kind: 'whole' | 'streams' | 'both', until: Promise<unknown>, callers = workers): Promise<Answer[]> {
    let isOver = false;
    const end = (): void => void (isOver = true);
    until.then(end, end);
    const made: Answer[] = [];
    const work = async (_: unknown, worker: number): Promise<void> => {
      for (let count = worker; !isOver; count += 1) {
        made.push(await call(kind === 'streams' || (kind === 'both' && count % 2 === 0)));
        await sleep(20);
      }
    };
    await Promise.all(Array.from({ length: callers }, work));
    await until;
    return made;
  }

  async function credential(command: string, name: string, secret: string): Promise<void> {
    const args = ['upstream', 'credential', command, 'a', name, '--secret-stdin'];
    const { code, stderr } = await runCommand(args, system.operatorEnv(), `${secret}\n`);
    expect([code, stderr]).toEqual([0, '']);
  }

  /** Repairs the vendors and makes calls until all of them answer again. */
  async function recover(): Promise<void> {
    for (const vendor of vendors) vendor.script('m', healthy);
    const before = vendors.map((vendor) => vendor.requests.length);
    const areBack = eventually(
      async () => (vendors.every((vendor, index) => vendor.requests.length > before[index]! + 2) ? true : undefined),
      20_000,
    );
    const made = await load('whole', areBack);
    answers.push(...made);
    expect(made.filter(({ isComplete }) => !isComplete)).toEqual([]);
  }

  const cases = disorders.flatMap((disorder, number) =>
    (isLong ? [0, 1, 2] : [number % 3]).map((vendor) => [disorder.name, vendor, disorder] as const),
  );

  it.each(cases)(
    'succeed at the others while one is %s (%d)',
    async (_name, index, disorder) => {
      const { script, scripts = script && [script], wholeOnly = false, streamsOnly = false, isHarmless = false, ms = 1500 } = disorder;
      const { callsUntilEjected = failuresMax, callsPerTrial = 1 } = disorder;
      const phaseMs = isLong ? 10_000 : ms;
      await recover();
      // The share of failed and slow calls is not diluted by the calls before the disorder.
      if (disorder.callsUntilEjected !== undefined) await sleep(windowMs);
      const vendor = vendors[index]!;
      const before = vendor.requests.length;
      const requestsOfOthers = (): number => vendors.reduce((sum, { requests }) => sum + requests.length, 0) - vendor.requests.length;
      const beforeOfOthers = requestsOfOthers();
      if (scripts === undefined) await vendor.down();
      else vendor.script('m', ...scripts);
      const beganMs = performance.now();
      // A slow machine makes few calls, and all may begin at the vendor before it is ejected.
      const isAvoided = eventually(
        () => isHarmless || requestsOfOthers() - beforeOfOthers > vendor.requests.length - before || undefined,
        30_000,
      );
      const phase = Promise.all([sleep(phaseMs), isAvoided]);
      const made = await load(wholeOnly ? 'whole' : streamsOnly ? 'streams' : 'both', phase, disorder.callers);
      if (scripts === undefined) await vendor.up();
      answers.push(...made);
      expect(made.filter(({ isComplete }) => !isComplete)).toEqual([]);
      if (isHarmless) return;
      // Calls that were under way when it was ejected, and one trial each time that an ejection ended.
      const trials = Math.ceil((performance.now() - beganMs) / ejectionMs) + 1;
      const callsMax = (callsUntilEjected + callsPerTrial * trials) * threads + workers;
      expect(vendor.requests.length - before).toBeLessThanOrEqual(callsMax);
      expect(made.length).toBeGreaterThan(vendor.requests.length - before);
    },
    60_000,
  );

  it('are ejected, drained and returned by the operator, in every process', async () => {
    await recover();
    const health = async (): Promise<{ upstream_id: string; state: string }[]> =>
      (await system.cli('upstream', 'health', '--json'))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { upstream_id: string; state: string });
    const listed = (state: string) =>
      eventually(async () => ((await health()).some((target) => target.upstream_id === 'a' && target.state === state) ? true : undefined));
    for (const [state, ...command] of [
      ['ejected', 'eject', 'a', 'm', '--for', '10m'],
      ['drained', 'drain', 'a', 'm'],
    ]) {
      await system.cli('upstream', ...command);
      await listed(state!);
      // Every process and thread learns it within a second.
      await eventually(async () => {
        const before = vendors[0]!.requests.length;
        const made = await load('both', sleep(300));
        answers.push(...made);
        expect(made.filter(({ isComplete }) => !isComplete)).toEqual([]);
        return vendors[0]!.requests.length === before ? true : undefined;
      });
      await system.cli('upstream', 'return', 'a', 'm');
      await eventually(async () => ((await health()).length === 0 ? true : undefined));
      await recover();
    }
  }, 60_000);

  it.each([
    ['revoked', 'sk-stub-revoked'],
    ['limited', limitedKey],
  ])('answer every call while one of their two credentials is %s', async (name, secret) => {
    await recover();
    await credential('add', name, secret);
    const before = vendors[0]!.requests.length;
    const phaseMs = isLong ? 10_000 : 500;
    const withSecret = () => vendors[0]!.requests.slice(before).filter(({ headers }) => headers.authorization === `Bearer ${secret}`);
    let usedAtMs = 0;
    // Every process learns of the credential within a second, later on a busy machine, which also makes few calls.
    const areBothUsed = eventually(async () => {
      const count = withSecret().length;
      if (count > 0) usedAtMs ||= performance.now();
      return count > 0 && vendors[0]!.requests.length - before > count ? true : undefined;
    }, 20_000);
    const made = await load(
      'both',
      areBothUsed.then(() => sleep(phaseMs)),
    );
    const usedMs = performance.now() - usedAtMs;
    answers.push(...made);
    expect(made.filter(({ isComplete }) => !isComplete)).toEqual([]);
    const requests = vendors[0]!.requests.slice(before);
    const refused = withSecret();
    // Calls at the same time find out together, and one after each pause.
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThanOrEqual((Math.ceil(usedMs / ejectionMs) + 1) * threads + workers);
    expect(requests.length).toBeGreaterThan(refused.length);
    await system.cli('upstream', 'credential', 'remove', 'a', name);
  });

  it('get no calls with a credential that the operator drained, until it is returned', async () => {
    await recover();
    await credential('add', 'second', secondKey);
    const used = async (): Promise<boolean> => {
      const before = vendors[0]!.requests.length;
      const made = await load('both', sleep(300));
      answers.push(...made);
      expect(made.filter(({ isComplete }) => !isComplete)).toEqual([]);
      return vendors[0]!.requests.slice(before).some(({ headers }) => headers.authorization === `Bearer ${secondKey}`);
    };
    await eventually(async () => ((await used()) ? true : undefined));
    await system.cli('upstream', 'drain', 'a', 'm', '--credential', 'second');
    await eventually(async () => ((await used()) ? undefined : true));
    expect(await system.cli('upstream', 'health')).toMatch(/a +m +second +drained/);
    expect(await system.cli('upstream', 'health', '--all')).toMatch(/b +m +.*available/);
    await system.cli('upstream', 'return', 'a', 'm', '--credential', 'second');
    await eventually(async () => ((await used()) ? true : undefined));
    await system.cli('upstream', 'credential', 'remove', 'a', 'second');
  }, 60_000);

  it('cost what the answers cost, however many attempts there were, and none waited for two silent vendors', async () => {
    expect(answers.length).toBeGreaterThan(100);
    const { rows, balance } = await settled(system, accountId, answers.length, 60_000);
    expect(rows.map(({ id }) => id).sort()).toEqual(answers.map(({ id }) => id).sort());
    expect(rows.filter((row) => BigInt(row.charge_nano_usd) !== costNanoUsd)).toEqual([]);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    const retried = new Set<string>();
    for (const { attempts } of rows as (UsageRow & { attempts: { reason: string | null }[] })[]) {
      const reasons = attempts.map(({ reason }) => reason).filter((reason) => reason !== null);
      expect(reasons.filter((reason) => reason === 'upstream_timeout').length).toBeLessThanOrEqual(1);
      for (const reason of reasons) retried.add(reason);
    }
    expect([...retried].sort()).toEqual(['upstream_failed', 'upstream_rate_limited', 'upstream_timeout', 'upstream_unavailable']);
  }, 120_000);
});
