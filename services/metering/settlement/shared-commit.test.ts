// The commit that ledger and metering share. Whenever the process is killed or the machine loses power, every answer that was given is in the
// books, and every call is whole or absent.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase } from '#kit/db/open.js';
import { call, report } from '../testing/calls.js';
import { find } from '../testing/harness.js';
import { type Customer, heldNanoUsd, type Money, startMoney } from '../testing/with-ledger.js';

const callers = 8;
const callsPerCaller = 4;

/** What was known at a crash point, and a copy of the database as the next process finds it. */
interface Crash {
  readonly file: string;
  readonly grantedHolds: readonly string[];
  readonly provisionalHolds: readonly string[];
  /** Of calls whose holds may be written with their records. */
  readonly wholeCalls: readonly string[];
  readonly answeredRecords: readonly string[];
}

describe('the commit that ledger and metering share', () => {
  let folder: string;
  let customer: Customer;
  let price: Money['catalog'][number];
  /** By crash point, one crash for each commit of the run. */
  const crashes: Record<'killed after the commit' | 'power lost before the sync' | 'power lost after the sync', Crash[]> = {
    'killed after the commit': [],
    'power lost before the sync': [],
    'power lost after the sync': [],
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-shared-commit-'));
    const file = join(folder, 'books.db');
    const known = {
      grantedHolds: [] as string[],
      provisionalHolds: [] as string[],
      wholeCalls: [] as string[],
      answeredRecords: [] as string[],
    };
    let images = 0;
    let synced: string | undefined;
    const image = (): string => {
      const into = join(folder, String((images += 1)));
      mkdirSync(into);
      for (const suffix of ['', '-wal']) if (existsSync(file + suffix)) copyFileSync(file + suffix, join(into, `books.db${suffix}`));
      return join(into, 'books.db');
    };
    const note = (point: keyof typeof crashes, of: string): void => {
      const { grantedHolds, provisionalHolds, wholeCalls, answeredRecords } = known;
      crashes[point].push({
        file: of,
        grantedHolds: [...grantedHolds],
        provisionalHolds: [...provisionalHolds],
        wholeCalls: [...wholeCalls],
        answeredRecords: [...answeredRecords],
      });
    };
    let isCrashing = false;
    const syncFile = async (): Promise<void> => {
      if (!isCrashing) return;
      const written = image();
      await new Promise((resolve) => setTimeout(resolve, 1));
      note('killed after the commit', written);
      // Of what has not been synced, the disk may have nothing.
      note('power lost before the sync', synced!);
      note('power lost after the sync', (synced = written));
    };
    const commits = crashes['power lost after the sync'];
    /** Waits for the next commit; not for long, since at the end there is none. */
    const anotherCommit = async (): Promise<void> => {
      const before = commits.length;
      for (const untilMs = performance.now() + 50; commits.length === before && performance.now() < untilMs;)
        await new Promise((resolve) => setImmediate(resolve));
    };
    const db = openDatabase(`sqlite:${file}`, { syncFile });
    const money = await startMoney('sqlite', { isShared: true, on: { db, drop: () => db.close() } });
    customer = await money.customer();
    price = money.catalog[0]!;
    synced = image();
    isCrashing = true;
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let index = 0; index < callsPerCaller; index += 1) {
          const isWhole = caller % 4 === 3;
          // While a commit is in progress, every hold joins the next one.
          while (isWhole && db.isCommitting()) await new Promise((resolve) => setImmediate(resolve));
          const id = await money.hold(customer, (holdId) => known.provisionalHolds.push(holdId), isWhole);
          (isWhole ? known.wholeCalls : known.grantedHolds).push(id);
          // So that a crash finds the hold without its record, and holds and records wait at the same time.
          if (caller % 2 === 0) await anotherCommit();
          await money.metering.recordUsage(reportOf(id));
          known.answeredRecords.push(id);
        }
      }),
    );
    isCrashing = false;
    await money.stop();
  }, 60_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  const reportOf = (id: string) => report({ call: call({ ...customer, id, heldNanoUsd, price }) });

  it.each(Object.keys(crashes) as (keyof typeof crashes)[])(
    'loses and repeats nothing when %s',
    async (point) => {
      let grantedOnly = 0;
      let lostProvisional = 0;
      let unwritten = 0;
      // Opening a copy changes it, and two crashes may have the same one.
      for (const [index, crash] of crashes[point].entries()) {
        const copy = join(folder, `${point}-${index}.db`);
        for (const suffix of ['', '-wal']) if (existsSync(crash.file + suffix)) copyFileSync(crash.file + suffix, copy + suffix);
        const db = openDatabase(`sqlite:${copy}`);
        const money = await startMoney('sqlite', { isShared: true, on: { db, drop: () => db.close() } });
        money.catalog.splice(0, 1, price);
        const holdOf = (holdId: string) =>
          money.ledger.getHold({ holdId, accountId: customer.accountId }).then(
            ({ hold }) => hold,
            () => undefined,
          );
        for (const id of crash.grantedHolds) {
          const record = await find(money.metering, id);
          expect(await holdOf(id)).toBeDefined();
          if (record === undefined) grantedOnly += 1;
          else expect(await holdOf(id)).toMatchObject({ capturedNanoUsd: record.chargeNanoUsd });
        }
        let wholeCharged = 0;
        for (const id of crash.wholeCalls) {
          const record = await find(money.metering, id);
          const hold = await holdOf(id);
          if (record !== undefined) wholeCharged += 1;
          else if (hold === undefined) unwritten += 1;
          if (record !== undefined) expect(hold).toMatchObject({ capturedNanoUsd: record.chargeNanoUsd });
          else expect(hold?.capturedNanoUsd ?? 0n).toBe(0n);
        }
        for (const id of crash.answeredRecords) expect((await find(money.metering, id))?.settlement).toBeDefined();
        for (const id of crash.provisionalHolds) if ((await holdOf(id)) === undefined) lostProvisional += 1;
        // The gateway repeats the reports that were not answered.
        for (const id of crash.grantedHolds) await money.metering.recordUsage(reportOf(id));
        expect((await money.ledger.verify({ accountId: '' })).drifts).toEqual([]);
        expect((await money.reconcile()).drifts).toEqual([]);
        const { balance } = await money.ledger.getBalance({ accountId: customer.accountId });
        const charge = (await find(money.metering, crash.grantedHolds[0] ?? ''))?.chargeNanoUsd ?? 0n;
        expect(balance!.spentNanoUsd).toBe(charge * BigInt(crash.grantedHolds.length + wholeCharged));
        await money.stop();
      }
      expect(grantedOnly).toBeGreaterThan(0);
      // Only a power failure undoes what was applied, and only what was not answered.
      if (point === 'power lost before the sync') {
        expect(lostProvisional).toBeGreaterThan(0);
        expect(unwritten).toBeGreaterThan(0);
      } else expect(lostProvisional).toBe(0);
    },
    120_000,
  );

  it('carries holds and records together', () => {
    const points = crashes['power lost after the sync'];
    const shared = points.filter(({ provisionalHolds, answeredRecords }, index) => {
      const next = points[index + 1];
      return (
        next !== undefined && next.answeredRecords.length > answeredRecords.length && next.provisionalHolds.length > provisionalHolds.length
      );
    });
    expect(shared.length).toBeGreaterThan(0);
    // Fewer commits than a hold and a record for each call.
    expect(points.length).toBeLessThan(callers * callsPerCaller);
  });
});
