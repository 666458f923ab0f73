// Recovery after a power cut: every hold ends, nothing is charged twice, and the books are correct.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chat, settled, sumOfCharges } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

describe.each(modes)('a system that is killed in the middle of 50 streams, %s', (mode) => {
  let system: System;

  beforeAll(async () => {
    // Short leases keep the test short, but a busy machine pauses for a second or two.
    system = await startSystem(mode, {
      TOLLGATE_METERING_LEASE: '5s',
      TOLLGATE_METERING_SWEEP_INTERVAL: '200ms',
      TOLLGATE_METERING_LOST_GRACE: '0ms',
      TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL: '100ms',
      TOLLGATE_GATEWAY_HOLD_TTL: '8s',
      TOLLGATE_METERING_HOLD_TTL: '8s',
    });
  });

  afterAll(() => system?.stop());

  it('charges each call once: finished ones in full, interrupted ones up to their last checkpoint', async () => {
    const { id: accountId } = await system.json<{ id: string }>('account', 'list');
    const done: string[] = [];
    const cut: string[] = [];
    const finished = await Promise.all(
      Array.from({ length: 10 }, async () => {
        const response = await chat(system, system.firstKey, { stream: true });
        await response.text();
        return response.headers.get('x-request-id')!;
      }),
    );
    done.push(...finished);
    const streams = Array.from({ length: 50 }, async () => {
      const response = await chat(system, system.firstKey, {
        model: 'sandbox/story',
        stream: true,
        max_tokens: 2000,
        // Few tokens a second, because a busy machine would fall behind with fifty fast answers.
        messages: [{ role: 'user', content: 'delay=100ms tokens=1000' }],
      });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ''; !/"content":"[^"]/.test(text);) text += (await reader.read()).value ?? '';
      cut.push(response.headers.get('x-request-id')!);
      for (let isOver = false; !isOver;)
        isOver = await reader.read().then(
          ({ done }) => done,
          () => true,
        );
    });
    // Each call has some output, and ten checkpoints are written every second. The answers last much longer.
    await eventually(() => (cut.length === 50 ? true : undefined));
    await sleep(5000);
    await system.kill();
    await Promise.all(streams);
    await system.start();

    const { rows, balance } = await settled(system, accountId, done.length + cut.length, 40_000);
    const byId = new Map(rows.map((row) => [row.id, row]));
    expect(rows).toHaveLength(byId.size);
    for (const id of done) expect(byId.get(id)).toMatchObject({ outcome: 'completed' });
    for (const id of cut) {
      expect(byId.get(id)).toMatchObject({ outcome: 'gateway_lost', token_source: 'estimated' });
      expect(byId.get(id)!.output_tokens).toBeGreaterThan(0);
    }
    expect(BigInt(balance.spent_nano_usd)).toBe(sumOfCharges(rows));
    expect(await system.json('ledger', 'verify')).toMatchObject({ ok: true, open_holds: 0, sum_nano_usd: '0' });
    expect((await chat(system, system.firstKey)).status).toBe(200);
  }, 120_000);
});
