// Alerts about refused keys are sent immediately, and each only once, even if the periodic retry begins while it is being sent.
import { randomBytes } from 'node:crypto';
import { expect, it, jest } from '@jest/globals';
import { newId } from '#kit/id.js';
import { testEngines, untilWaiting } from '#kit/testing/database.js';
import { silentLog } from '#kit/testing/log.js';
import type { AlertService } from '#proto/ledger/v1/alerts.js';
import { RecordRefusalsRequest_Series as Series, Refusal } from '#proto/metering/v1/metering.js';
import { pruneRefusals } from '../store/refusals/prune-refusals.js';
import { addRefusals } from '../store/refusals/refusals.js';
import { dueKeyAlerts, noteRefusedKeys } from '../store/refusals/refused-keys.js';
import { aWhile, Harness, until } from '../testing/harness.js';
import { KeyAlerts } from './key-alerts.js';

// Each test creates a database.
jest.setTimeout(60_000);

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

const senderOf = ({ db, clock }: Harness, alerts: Pick<AlertService, 'alertKeyRefused'>): KeyAlerts =>
  new KeyAlerts({ alerts, db, clock, log: silentLog }, 5);

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

it.each(testEngines)('sends an alert once, however long the ledger takes to accept it, with two replicas on %s', async (engine) => {
  const harness = await Harness.create(engine);
  await harness.replica();
  const atMs = harness.clock.nowMs();
  const refused = seriesOf(atMs);
  await addRefusals(harness.db, randomBytes(16), [refused], atMs);
  const sent: string[] = [];
  const { promise: accepted, resolve: accept } = Promise.withResolvers<void>();
  const alerts = {
    async alertKeyRefused({ keyId }: { readonly keyId: string }) {
      sent.push(keyId);
      await accepted;
      return { mails: 1 };
    },
  };
  const senders = [senderOf(harness, alerts), senderOf(harness, alerts)];
  for (const sender of senders) sender.start();
  for (const sender of senders) sender.wake();
  await until(() => sent.length > 0);
  await aWhile();
  accept();
  await Promise.all(senders.map((sender) => sender.stop()));
  expect(await dueKeyAlerts(harness.db, harness.clock.nowMs() + 60_000, 1)).toEqual([]);
  expect(sent).toEqual([refused.keyId]);
  await harness.close();
});

it.each(testEngines)('sends an alert again that the ledger did not accept on %s', async (engine) => {
  const harness = await Harness.create(engine);
  await harness.replica();
  const atMs = harness.clock.nowMs();
  await addRefusals(harness.db, randomBytes(16), [seriesOf(atMs)], atMs);
  let sent = 0;
  const alerts = {
    async alertKeyRefused() {
      sent += 1;
      if (sent === 1) throw new Error('The ledger is unavailable.');
      return { mails: 1 };
    },
  };
  const sender = senderOf(harness, alerts);
  sender.start();
  await until(() => sent === 1);
  await aWhile();
  expect(sent).toBe(1);
  harness.clock.advance(30_000);
  await until(() => sent === 2);
  await sender.stop();
  expect(await dueKeyAlerts(harness.db, harness.clock.nowMs() + 60_000, 1)).toEqual([]);
  await harness.close();
});

it.each(testEngines)('names the same first refusal in each attempt, also after an earlier one is known, on %s', async (engine) => {
  const harness = await Harness.create(engine);
  await harness.replica();
  const atMs = harness.clock.nowMs();
  const refusedAt = (refusedAtMs: number): Series =>
    seriesOf(atMs, { accountId, keyId, examples: [Refusal.fromPartial({ requestId: newId('req'), refusedAtMs: BigInt(refusedAtMs) })] });
  const [accountId, keyId] = [newId('acct'), newId('key')];
  await addRefusals(harness.db, randomBytes(16), [refusedAt(atMs)], atMs);
  const sent: bigint[] = [];
  const alerts = {
    async alertKeyRefused({ refusedAtMs }: { readonly refusedAtMs: bigint }) {
      if (sent.push(refusedAtMs) === 1) throw new Error('The answer of the ledger was lost.');
      return { mails: 1 };
    },
  };
  const sender = senderOf(harness, alerts);
  sender.start();
  await until(() => sent.length === 1);
  // Another gateway reports what it refused a moment before.
  await addRefusals(harness.db, randomBytes(16), [refusedAt(atMs - 1000)], atMs);
  harness.clock.advance(30_000);
  await until(() => sent.length === 2);
  await sender.stop();
  expect(sent).toEqual([BigInt(atMs), BigInt(atMs)]);
  await harness.close();
});

it.each(testEngines)('makes one alert due when two replicas store the first refused calls of a key at once on %s', async (engine) => {
  const harness = await Harness.create(engine);
  await harness.replica();
  const atMs = harness.clock.nowMs();
  const refused = seriesOf(atMs);
  const { promise: isNoted, resolve: begin } = Promise.withResolvers<void>();
  const { promise: mayCommit, resolve: commit } = Promise.withResolvers<void>();
  const first = harness.db.plainTransaction(async (tx) => {
    const isDue = await noteRefusedKeys(tx, [refused], atMs + 1000);
    begin();
    await mayCommit;
    return isDue;
  });
  await isNoted;
  const second = harness.db.plainTransaction((tx) => noteRefusedKeys(tx, [{ ...refused, modelId: 'sandbox/other' }], atMs));
  // A SQLite file has one writer.
  if (engine === 'mysql') await untilWaiting(harness.db, 'refused_key', 1);
  commit();
  expect(await Promise.all([first, second])).toEqual([true, false]);
  const rows = await harness.db.knex('refused_key').select('since_ms', 'last_at_ms');
  expect(rows.map((row) => [Number(row.since_ms), Number(row.last_at_ms)])).toEqual([[atMs, atMs + 1000]]);
  await harness.close();
});

it.each(testEngines)('sends the alert of a key that is refused again while its last refused calls are deleted, on %s', async (engine) => {
  const harness = await Harness.create(engine);
  await harness.replica();
  const atMs = harness.clock.nowMs();
  const refused = seriesOf(atMs);
  await harness.db.plainTransaction((tx) => noteRefusedKeys(tx, [refused], atMs));
  await harness.db.knex('refused_key').update({ alert_due_ms: 0 });
  const laterMs = atMs + 30 * 86_400_000;
  const again = seriesOf(laterMs, { accountId: refused.accountId, projectId: refused.projectId, keyId: refused.keyId });
  let pruned: Promise<void> | undefined;
  await harness.db.plainTransaction(async (tx) => {
    expect(await noteRefusedKeys(tx, [again], laterMs)).toBe(true);
    pruned = pruneRefusals(harness.db, { refusalsMs: laterMs - 86_400_000, batchesMs: 0 }, new AbortController().signal);
    // Long enough that the old row is found before the commit, where others can read at all.
    await aWhile();
  });
  await pruned;
  expect(await dueKeyAlerts(harness.db, laterMs, 1)).toMatchObject([{ keyId: refused.keyId, dueMs: laterMs }]);
  await harness.close();
});
