// Kills the ledger repeatedly under the load of many concurrent callers, whose holds and settlements share batch streams: no call
// hangs, every call has an outcome, and the books are correct.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { settled, sumOfCharges } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { killOne, startedSince } from '../support/systems/processes.js';
import { startSystem, type System } from '../support/systems/system.js';
import { observe, type SeenCall } from '../support/clients/traffic.js';

const callers = 24;
const kills = 4;
/** How long the gateway waits for the ledger, and how long the rest of a call may take on a busy machine. */
const rpcTimeoutMs = 5000;
const callMsMax = rpcTimeoutMs + 10_000;

describe('calls while the ledger is killed repeatedly', () => {
  let system: System;
  let accountId: string;

  beforeAll(async () => {
    system = await startSystem('distributed', {
      TOLLGATE_DISTRIBUTED_RESTART_DELAY: '200ms',
      TOLLGATE_GATEWAY_RPC_TIMEOUT: `${rpcTimeoutMs}ms`,
      TOLLGATE_GATEWAY_HOLD_TTL: '12s',
      TOLLGATE_METERING_HOLD_TTL: '12s',
    });
    accountId = (await system.json<{ id: string }>('account', 'list')).id;
    await system.cli('balance', 'deposit', '50');
  });

  afterAll(() => system?.stop());

  it('all have an outcome in time, and each answered call is charged once', async () => {
    const seen: SeenCall[] = [];
    let isOver = false;
    const caller = async (index: number): Promise<void> => {
      const path = index % 2 === 0 ? '/v1/chat/completions' : '/v1/messages';
      const body = { model: 'sandbox/echo', stream: false, max_tokens: 20, messages: [{ role: 'user', content: 'Hello there' }] };
      for (; !isOver; await sleep(10)) seen.push(await observe(system, system.firstKey, path, body));
    };
    const load = Promise.all(Array.from({ length: callers }, (_, index) => caller(index)));
    for (let kill = 0; kill < kills; kill += 1) {
      await sleep(1500);
      const killedAtMs = Date.now();
      await killOne(system, 'ledger')();
      await eventually(() => startedSince(system, 'ledger', killedAtMs), 30_000);
      const servedBefore = seen.filter((call) => call.isWhole).length;
      // Waits until calls are served again before the next kill; otherwise the load would never reach a running ledger.
      await eventually(() => (seen.filter((call) => call.isWhole).length > servedBefore + callers ? true : undefined), 20_000);
    }
    isOver = true;
    await load;

    const slow = seen.filter((call) => call.endedAtMs - call.beganAtMs > callMsMax);
    expect(slow).toEqual([]);
    const refused = seen.filter((call) => !call.isWhole);
    expect(refused.filter((call) => (call.status !== 503 && call.status !== 529) || call.reason !== 'service_unavailable')).toEqual([]);
    // The ledger was killed with operations on the streams, not while it was idle.
    const gatewayLog = readFileSync(join(system.dataDir, 'logs', 'gateway.log'), 'utf8');
    expect(gatewayLog).toContain('the stream of operations broke');
    expect(gatewayLog).toContain('the stream of operations is open again');

    const { rows, balance } = await settled(system, accountId, 0, 40_000);
    const charges = new Map(rows.map((row) => [row.id, BigInt(row.charge_nano_usd)]));
    expect(charges.size).toBe(rows.length);
    const whole = seen.filter((call) => call.isWhole);
    expect(whole.length).toBeGreaterThan(kills * callers);
    expect(whole.filter((call) => !(charges.get(call.requestId!)! > 0n))).toEqual([]);
    expect(refused.filter((call) => (charges.get(call.requestId!) ?? 0n) > 0n)).toEqual([]);
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await system.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
  }, 180_000);
});
