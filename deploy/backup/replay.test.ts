// Databases that were copied one after another, the ledger first.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { type Database, openDatabase } from '#kit/db/open.js';
import { silentLog as log } from '#kit/testing/log.js';
import { DriftCheck } from '#proto/metering/v1/metering.js';
import { call, report } from '../../services/metering/testing/calls.js';
import { heldNanoUsd, startMoney } from '../../services/metering/testing/with-ledger.js';
import { replay } from './replay.js';

it('books refunds again that the copy of the ledger does not have', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-replay-'));
  const fileOf = (name: string): string => join(folder, `${name}.db`);
  const copy = (db: Database, name: string) => db.knex.raw('VACUUM INTO ?', [fileOf(name)]);
  const money = await startMoney('sqlite');
  const customer = await money.customer();
  const refunded = async (): Promise<string> => {
    const id = await money.hold(customer);
    const startedAtMs = BigInt(money.clock.nowMs());
    const ended = call({ ...customer, id, heldNanoUsd, streaming: false, price: money.catalog[0]!, startedAtMs });
    await money.metering.recordUsage(report({ call: ended }));
    return id;
  };
  const refund = async (callId: string): Promise<void> => {
    await money.metering.refundUndeliveredAnswer({ callId, accountId: customer.accountId, idempotencyKeyHash: Buffer.alloc(0) });
    for (;;) {
      const { hold } = await money.ledger.getHold({ holdId: callId, accountId: customer.accountId });
      if (hold!.refundedNanoUsd > 0n) break;
      money.clock.advance(100);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const isOver = async (): Promise<boolean> => (await money.meteringDb.knex('refund_outbox').whereNot({ state: 2 })).length === 0;

  // Refunded before both copies; charged before the first copy and refunded before the second; charged and refunded between them.
  await refund(await refunded());
  const charged = await refunded();
  while ((await money.ledger.getHold({ holdId: charged, accountId: customer.accountId })).hold!.capturedNanoUsd === 0n)
    await new Promise((resolve) => setTimeout(resolve, 5));
  await copy(money.ledgerDb, 'ledger');
  await refund(charged);
  await refund(await refunded());
  while (!(await isOver())) await new Promise((resolve) => setTimeout(resolve, 5));
  await copy(money.meteringDb, 'metering');
  const { balance } = await money.ledger.getBalance({ accountId: customer.accountId });
  await money.stop();

  const databases = {
    catalog: openDatabase(`sqlite:${fileOf('catalog')}`),
    ledger: openDatabase(`sqlite:${fileOf('ledger')}`),
    metering: openDatabase(`sqlite:${fileOf('metering')}`),
  };
  try {
    const { settledAgain, verification } = await replay(databases, undefined, {}, log);
    expect(settledAgain).toBe(1);
    // The catalog of this test has no prices.
    expect(verification.drifts.filter(({ check }) => check !== DriftCheck.DRIFT_CHECK_PRICE)).toEqual([]);
    const [account] = await databases.ledger.query(
      'SELECT cap_nano_usd, spent_nano_usd, held_nano_usd FROM bucket WHERE cap_nano_usd IS NOT NULL',
      [],
    );
    expect(account).toMatchObject({ spent_nano_usd: balance!.spentNanoUsd, held_nano_usd: 0n });
    expect(balance!.spentNanoUsd).toBe(0n);
  } finally {
    for (const db of Object.values(databases)) await db.close();
    rmSync(folder, { recursive: true });
  }
}, 60_000);
