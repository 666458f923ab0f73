// Kills the processes of a distributed Tollgate one after the other under light traffic, and checks which calls are refused, which
// continue, and that everything recovers by itself with correct books.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { chat, createKey, get, settled, sumOfCharges, usageRows } from '../support/clients/calls.js';
import { type OtlpReceiver, startOtlpReceiver } from '../support/vendors/otlp.js';
import { eventually, isAlive } from '../support/systems/process.js';
import { killOne, pidsOf, type ProcessName, startedSince } from '../support/systems/processes.js';
import { gatewayLog, startSystem, type System } from '../support/systems/system.js';
import { observe, type SeenCall, startTraffic } from '../support/clients/traffic.js';

// Long enough for a run of the operator's command on a busy machine.
const restartMs = 5000;
// Generous, because starting a process takes long on a busy machine.
const restartedMsMax = 30_000;
const foundMsMax = 4000;

const short = { model: 'sandbox/echo', stream: false, max_tokens: 20, messages: [{ role: 'user', content: 'Hello there' }] };
const chatPath = '/v1/chat/completions';

interface Outage {
  /** Calls that began at least 100 ms after the kill and ended before the process was restarted. */
  readonly during: SeenCall[];
  /** Streams that had been admitted when the process died. */
  readonly inFlight: SeenCall[];
  /** Calls that began after the gateway had reported that it is ready again, and had served a call. */
  readonly after: SeenCall[];
  readonly all: SeenCall[];
}

describe('a distributed system that loses a process', () => {
  let system: System;
  let receiver: OtlpReceiver;
  let accountId: string;
  const everSeen: SeenCall[] = [];

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    system = await startSystem('distributed', {
      ...receiver.env,
      TOLLGATE_DISTRIBUTED_RESTART_DELAY: `${restartMs}ms`,
      // Short, so that the calls of a lost gateway are closed within the test, yet longer than any outage here.
      TOLLGATE_METERING_LEASE: '14s',
      TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
      TOLLGATE_METERING_LOST_GRACE: '0ms',
      TOLLGATE_METERING_HOLD_TTL: '16s',
      TOLLGATE_GATEWAY_HOLD_TTL: '16s',
    });
    accountId = (await system.json<{ id: string }>('account', 'list')).id;
    await system.cli('balance', 'deposit', '50');
  });

  afterAll(async () => {
    await system?.stop();
    await receiver?.stop();
  });

  /** Kills a process under traffic. Runs `whileDown` while the process is unavailable. */
  async function outageOf(name: ProcessName, whileDown: () => Promise<void> = async () => undefined): Promise<Outage> {
    await untilReady();
    const traffic = startTraffic(system, system.firstKey);
    let killedAtMs = 0;
    let restartedAtMs = 0;
    let readyAtMs = 0;
    try {
      await sleep(500);
      killedAtMs = Date.now();
      const untilRestarted = killOne(system, name);
      await Promise.all([whileDown(), untilRestarted().then(() => (restartedAtMs = Date.now()))]);
      // MariaDB is ready by the time its restart is recorded.
      const servingAtMs =
        name === 'mariadb' ? restartedAtMs : await eventually(() => startedSince(system, name, killedAtMs), restartedMsMax);
      await untilReady();
      expect(Date.now() - servingAtMs).toBeLessThan(foundMsMax);
      // The first call after an outage of metering tries whether calls can be recorded. Until it has ended, others are refused.
      await eventually(
        async () => ((await observe(system, system.firstKey, chatPath, short)).status === 200 ? true : undefined),
        foundMsMax,
      );
      readyAtMs = Date.now();
      await sleep(700);
    } finally {
      // Also after a failed check, because the next test starts its own traffic.
      await traffic.stop();
    }
    const all = await traffic.stop();
    everSeen.push(...all);
    return {
      during: all.filter((call) => call.beganAtMs > killedAtMs + 100 && call.endedAtMs < restartedAtMs),
      inFlight: all.filter((call) => call.isStream && call.status === 200 && call.beganAtMs < killedAtMs && call.endedAtMs > killedAtMs),
      after: all.filter((call) => call.beganAtMs > readyAtMs),
      all,
    };
  }

  /** Expects that calls failed only with clear refusals, and that none failed after the recovery. */
  function expectRecovery({ all, after }: Outage): void {
    const refused = all.filter((call) => call.status !== 200);
    // Each format has its own error type for this.
    expect(refused.filter((call) => call.status !== (call.path === chatPath ? 503 : 529))).toEqual([]);
    expect(refused.filter((call) => call.reason !== 'service_unavailable' || !(Number(call.retryAfter) >= 1))).toEqual([]);
    expectServed(after);
  }

  function expectServed(calls: SeenCall[]): void {
    expect(calls.length).toBeGreaterThan(0);
    expect(calls.filter((call) => !call.isWhole)).toEqual([]);
  }

  const missing = async (): Promise<string[]> => {
    const response = await fetch(`${system.baseUrl}/readyz`);
    return response.status === 503 ? ((await response.json()) as { missing: string[] }).missing : [];
  };

  /** Waits until the gateway reports that a process is missing. */
  const untilMissing = (name: ProcessName): Promise<true> => eventually(async () => ((await missing()).includes(name) ? true : undefined));

  async function untilReady(): Promise<void> {
    await eventually(async () => ((await missing()).length === 0 ? true : undefined), restartedMsMax);
  }

  // This test comes first, so that the leases of the calls that the gateway loses have expired by the end of the others.
  it('serves again after the gateway is restarted', async () => {
    const outage = await outageOf('gateway');
    expect(new Set(outage.during.map((call) => call.status))).toEqual(new Set([0]));
    expectServed(outage.after);
  });

  it('gives the operator the address of its private Redis, as the runbook requires', () => {
    const url = system.operatorEnv()['TOLLGATE_GATEWAY_REDIS_URL']!;
    expect(execFileSync('redis-cli', ['-u', url, 'ping'], { encoding: 'utf8', stdio: 'pipe' })).toBe('PONG\n');
  });

  it('keeps serving without the catalog', async () => {
    const outage = await outageOf('catalog', async () => {
      await sleep(300);
      expect((await get(system, '/v1/models', system.firstKey)).status).toBe(200);
      expect((await fetch(`${system.baseUrl}/v1/catalog`)).status).toBe(200);
      expect(await missing()).toEqual([]);
    });
    expectServed(outage.all);
  });

  it('serves known keys for a moment without auth, then refuses all calls', async () => {
    const { secret: unknown } = await createKey(system, 'never used before');
    const outage = await outageOf('auth', async () => {
      expect(await observe(system, system.firstKey, chatPath, short)).toMatchObject({ status: 200 });
      const refusal = { status: 503, reason: 'service_unavailable', retryAfter: '1' };
      expect(await observe(system, unknown, chatPath, short)).toMatchObject(refusal);
      await eventually(async () => ((await observe(system, system.firstKey, chatPath, short)).status === 503 ? true : undefined));
      expect(await observe(system, system.firstKey, chatPath, short)).toMatchObject(refusal);
      expect(await missing()).toContain('auth');
    });
    expectServed(outage.inFlight);
    expectRecovery(outage);
  });

  it('refuses new calls without the ledger, and completes those in flight', async () => {
    const outage = await outageOf('ledger', async () => {
      await untilMissing('ledger');
    });
    expect(outage.during.filter((call) => call.status === 200)).toEqual([]);
    expectServed(outage.inFlight);
    expectRecovery(outage);
  });

  it('completes calls in flight without metering, and soon refuses new ones', async () => {
    const outage = await outageOf('metering', async () => {
      await untilMissing('metering');
    });
    expectServed(outage.inFlight);
    // Calls that were admitted before the outage was detected have completed too.
    expect(outage.during.filter((call) => call.status !== 200).length).toBeGreaterThan(0);
    expectRecovery(outage);
  });

  it('refuses calls without inference, and ends those in flight with an error', async () => {
    const outage = await outageOf('inference', async () => {
      await untilMissing('inference');
      const doctor = await system.tryCli('doctor');
      expect(doctor.code).toBe(1);
      expect(doctor.stdout).toMatch(/FAIL\s+inference/);
      expect(doctor.stdout).toContain('"missing":["inference"]');
    });
    expect(outage.during.filter((call) => call.status === 200)).toEqual([]);
    expect(outage.inFlight.map(({ status, isWhole, reason }) => ({ status, isWhole, reason }))).toEqual(
      outage.inFlight.map(() => ({ status: 200, isWhole: false, reason: 'service_unavailable' })),
    );
    expectRecovery(outage);
  });

  it('waits for its database: completes calls in flight, and refuses new ones as unavailable rather than as an internal error', async () => {
    const outage = await outageOf('mariadb');
    expect(outage.during.filter((call) => call.status === 200)).toEqual([]);
    expectServed(outage.inFlight);
    expectRecovery(outage);
  });

  it('has charged every answer once, refused calls not at all, and holds nothing', async () => {
    const { rows, balance } = await settled(system, accountId, 0, 30_000);
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(byId.size).toBe(rows.length);
    for (const call of everSeen) {
      const charge = BigInt(byId.get(call.requestId ?? '')?.charge_nano_usd ?? 0);
      if (call.isWhole) expect({ ...call, isCharged: charge > 0n }).toMatchObject({ isCharged: true });
      else if (call.status !== 200) expect({ ...call, charge }).toMatchObject({ charge: 0n });
    }
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    expect((await system.tryCli('doctor')).code).toBe(0);
  }, 40_000);

  it('still traces a call through every process, and logs the trace id', async () => {
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
    const parent = '00f067aa0ba902b7';
    const response = await chat(system, system.firstKey, {}, { headers: { traceparent: `00-${traceId}-${parent}-01` } });
    const wanted = ['gateway', 'inference', 'ledger', 'metering'].map((name) => `tollgate-${name}`);
    await eventually(() => {
      const spans = receiver.spans.filter((span) => span.traceId === traceId);
      expect([...new Set(spans.map((span) => span.service))].sort()).toEqual(wanted);
      const ids = new Set([parent, ...spans.map((span) => span.spanId)]);
      expect(spans.filter((span) => !ids.has(span.parentSpanId))).toEqual([]);
      return true;
    });
    const line = await eventually(() => {
      const lines = gatewayLog(system).split('\n').slice(0, -1);
      return lines.find((each) => each.includes(response.headers.get('x-request-id')!));
    });
    expect(JSON.parse(line)).toMatchObject({ msg: 'request', trace_id: traceId });
  });

  it('completes answers when it is stopped, and leaves no process behind', async () => {
    const traffic = startTraffic(system, system.firstKey);
    await sleep(1500);
    const pids = Object.values(pidsOf(system));
    const askedAtMs = Date.now();
    const code = system.end();
    await sleep(200);
    const seen = await traffic.stop();
    expect(await code).toBe(0);
    expect(pids.filter(isAlive)).toEqual([]);
    // A request of the last moment may arrive when the port is closed already.
    const underWay = seen.filter((call) => call.beganAtMs < askedAtMs - 300 && call.endedAtMs > askedAtMs);
    expectServed(underWay);
    await system.start();
    const ids = new Set((await usageRows(system)).map((row) => row.id));
    expect(underWay.filter((call) => !ids.has(call.requestId!))).toEqual([]);
    await settled(system, accountId);
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true, open_holds: 0 });
  });
});
