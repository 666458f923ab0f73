// Alerts about refused keys are all sent at once, and each once, also if the periodic retry comes while it is being sent.
import { randomBytes } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import { testEngines } from '#kit/testing/database.js';
import { RecordRefusalsRequest_Series as Series } from '#proto/metering/v1/metering.js';
import { addRefusals } from '../store/refusals.js';
import { dueKeyAlerts } from '../store/refused-keys.js';
import { aWhile, Harness, until } from '../testing/harness.js';
import { KeyAlerts } from './key-alerts.js';

const seriesOf = (atMs: number, changes: Partial<Series> = {}): Series =>
  Series.fromPartial({
    accountId: newId('acct'),
    projectId: newId('proj'),
    keyId: newId('key'),
    reason: 'key_revoked',
    quarterMs: BigInt(atMs - (atMs % 900_000)),
    calls: 1n,
    ...changes,
  });

it.each(testEngines)('sends all alerts that are due at once, however many keys they are about, on %s', async (engine) => {
  const harness = await Harness.create(engine);
  const { service } = await harness.replica();
  const atMs = harness.clock.nowMs();
  const accountId = newId('acct');
  const series = Array.from({ length: 250 }, () => seriesOf(atMs, { accountId, reason: 'account_suspended' }));
  await service.recordRefusals({ batchId: randomBytes(16), series });
  await until(() => harness.alerted.length >= series.length);
  expect(new Set(harness.alerted.map(({ keyId }) => keyId)).size).toBe(series.length);
  await harness.close();
});

it.each(testEngines)('sends an alert once, however long the ledger takes to accept it, on %s', async (engine) => {
  const harness = await Harness.create(engine);
  await harness.replica();
  const atMs = harness.clock.nowMs();
  const refused = seriesOf(atMs);
  await addRefusals(harness.db, randomBytes(16), [refused], atMs);
  const sent: string[] = [];
  let accept = (): void => undefined;
  const accepted = new Promise<void>((resolve) => (accept = resolve));
  const alerts = {
    async alertKeyRefused({ keyId }: { readonly keyId: string }) {
      sent.push(keyId);
      await accepted;
      return { mails: 1 };
    },
  };
  const retryMs = 5;
  const sender = new KeyAlerts({ alerts, db: harness.db, log: createLogger({ name: 'metering', level: 'silent' }) }, retryMs);
  sender.start();
  sender.wake();
  await until(() => sent.length > 0);
  await aWhile();
  accept();
  await until(async () => (await dueKeyAlerts(harness.db, 1)).length === 0);
  expect(sent).toEqual([refused.keyId]);
  await sender.stop();
  await harness.close();
});
