// The background job, with real time between its sweeps and a clock of the test's own for expiry.
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { testEngines } from '#kit/testing/database.js';
import { quietConfig, startTestLedger, type TestLedger } from '../testing/ledger.js';
import { fundedCustomer, holdRequest } from '../testing/requests.js';

const eagerConfig = { ...quietConfig, sweepIntervalMs: 10, sweepBatchSize: 7 };

describe.each(testEngines)('the sweeper on %s', (engine) => {
  let ledger: TestLedger;

  afterEach(() => ledger.stop());

  /** Waits until the condition holds, and fails the test when it never does. */
  async function eventually(isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (let tries = 0; tries < 500; tries += 1) {
      if (await isSo()) return;
      await pause(20);
    }
    throw new Error(`The condition was never met: ${isSo}`);
  }

  const heldBy = async (accountId: string): Promise<bigint> => (await ledger.service.getBalance({ accountId })).balance!.heldNanoUsd;

  it('frees the money of calls that were never ended', async () => {
    ledger = await startTestLedger(engine, eagerConfig);
    // On engines where several processes may serve one database, two sweep the same holds.
    if (engine === 'mysql') await ledger.startReplica();
    const customer = await fundedCustomer(ledger.service, 1_000n);
    for (let index = 0; index < 30; index += 1) await ledger.service.hold(holdRequest(customer, 10n, { ttlMs: 1_000 }));
    await pause(50);
    expect(await heldBy(customer.accountId)).toBe(300n);
    ledger.clock.advance(1_500);
    await eventually(async () => (await heldBy(customer.accountId)) === 0n);
    expect((await ledger.service.verify({ accountId: '' })).drifts).toEqual([]);
  }, 30_000);

  it.each([1, 8])(
    'continues with other accounts when one with %d holds cannot be written, and logs it',
    async (holds) => {
      ledger = await startTestLedger(engine, eagerConfig);
      const stuck = await fundedCustomer(ledger.service, 100n);
      const customer = await fundedCustomer(ledger.service, 100n);
      for (const owner of [...Array.from({ length: holds }, () => stuck), customer]) {
        const { hold } = await ledger.service.hold(holdRequest(owner, 10n, { ttlMs: 1_000 }));
        await ledger.service.checkpoint({ items: [{ holdId: hold!.id, accountId: owner.accountId, costSoFarNanoUsd: 5n, ttlMs: 1_000 }] });
      }
      const deposit = await ledger.db
        .knex('journal')
        .where({ account_id: Buffer.from(stuck.accountId.slice(5), 'hex') })
        .first();
      await ledger.db.knex('journal').insert({ ...deposit, seq: 2n });
      ledger.clock.advance(1_500);
      await eventually(async () => (await heldBy(customer.accountId)) === 0n);
      await eventually(() => ledger.logLines.some((line) => line.includes('could not be ended') && line.includes(stuck.accountId)));
      expect(await heldBy(stuck.accountId)).toBe(BigInt(holds) * 10n);
    },
    30_000,
  );
});
