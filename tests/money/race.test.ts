// A thousand concurrent calls on one account and twenty keys near their limits, with up to five budgets each, over three ledger processes on one
// MariaDB: never is more granted than is available, and no call is refused that could have been paid.
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AppError, hasReason } from '#client/errors/app-error.js';
import { newId } from '#kit/id.js';
import { callContext, type CallContext } from '#client/call-context.js';
import { dialGrpc, type GrpcConnection } from '#client/grpc/grpc-client.js';
import { type Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { DepositSource, type Hold, HoldState, LedgerServiceDefinition, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { startMariadb, type Mariadb } from '../../deploy/distributed/mariadb/mariadb.js';
import { type Child, eventually, freePort, startScript } from '../support/systems/process.js';
import { Timeline } from '../support/timeline.js';

jest.setTimeout(300_000);

const replicaCount = 3;
const callCount = 1_000;
const keyCount = 20;
const projectCount = 4;
const refusals = ['balance_empty', 'balance_held', 'key_limit_reached', 'budget_reached'] as const;
/** The dates of these zones always differ, so that each day is another period. At the end of a month, so do their months. */
const [west, east] = ['Etc/GMT+12', 'Pacific/Kiritimati'];
// Much longer than a call takes when a thousand wait, so that a slow machine does not fail the test.
const timeoutMs = 240_000;

describe('three ledgers on one database', () => {
  let dataDir: string;
  let mariadb: Mariadb;
  const children: Child[] = [];
  const connections: GrpcConnection[] = [];
  const replicas: LedgerService[] = [];

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'tollgate-race-'));
    mariadb = await startMariadb({ dataDir, port: 0, log: { info() {}, error() {} } });
    for (let index = 0; index < replicaCount; index += 1) {
      const address = `127.0.0.1:${await freePort()}`;
      children.push(
        startScript('dist/services/ledger/main.js', [], {
          TOLLGATE_LEDGER_LISTEN: address,
          TOLLGATE_LEDGER_DATABASE_URL: mariadb.url('tollgate_ledger'),
          TOLLGATE_LEDGER_MIGRATION_DATABASE_URL: mariadb.migrationUrl('tollgate_ledger'),
        }),
      );
      const connection = dialGrpc(address, { caller: 'operator' });
      connections.push(connection);
      replicas.push(connection.client(LedgerServiceDefinition));
    }
    for (const replica of replicas)
      await eventually(async () => (await replica.verify({ accountId: '' }, asOperator())).sumNanoUsd === 0n || undefined, 60_000);
  });

  afterAll(async () => {
    for (const connection of connections) connection.close();
    await Promise.all(children.map((child) => child.end('SIGTERM')));
    await mariadb.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const asOperator = (): CallContext => callContext({ caller: 'operator', timeoutMs });
  const at = (index: number): LedgerService => replicas[index % replicas.length]!;

  /** Creates an account with this much credit and its keys, each with its limit, or without one if undefined. */
  async function customer(creditedNanoUsd: bigint, limitOf: (key: number) => bigint | undefined) {
    const accountId = newId('acct');
    const source = DepositSource.DEPOSIT_SOURCE_CASH;
    await at(0).deposit({ idempotencyKey: newId('deposit'), accountId, amountNanoUsd: creditedNanoUsd, source, reason: '' }, asOperator());
    const keys = Array.from({ length: keyCount }, (_, key) => ({ keyId: newId('key'), limitNanoUsd: limitOf(key) }));
    return { accountId, creditedNanoUsd, keys };
  }

  type Customer = Awaited<ReturnType<typeof customer>>;

  async function askHold(
    { accountId, keys }: Customer,
    index: number,
    amountNanoUsd: bigint,
    minAmountNanoUsd = amountNanoUsd,
    { budgets, timeZone }: { budgets: Budget[]; timeZone: string } = { budgets: [], timeZone: '' },
  ): Promise<Hold> {
    const { keyId, limitNanoUsd } = keys[index % keyCount]!;
    const request = {
      holdId: newId('req'),
      accountId,
      keyId,
      keyLimit: { limitNanoUsd, version: 1n },
      amountNanoUsd,
      minAmountNanoUsd,
      ttlMs: 3_600_000,
      budgets,
      timeZone,
    };
    // Every tenth call is sent to two replicas, as after a lost response. One may grant what the other has just refused.
    const asked = index % 10 === 0 ? [at(index), at(index + 1)] : [at(index)];
    const answers = await Promise.allSettled(asked.map(async (replica) => (await replica.hold(request, asOperator())).hold!));
    const holds = answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
    const errors = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    for (const error of errors) if (holds.length === 0 || !hasReason(error, ...refusals)) throw error;
    if (holds.length === 2) expect(holds[1]).toEqual(holds[0]);
    return holds[0]!;
  }

  /** Requests all holds concurrently. Returns those that were granted, and how many were refused for which reason. */
  async function askAll(
    of: Customer,
    amountNanoUsd: bigint,
    pathOf?: (index: number) => { budgets: Budget[]; timeZone: string },
  ): Promise<{ granted: Hold[]; reasons: Record<string, number> }> {
    const granted: Hold[] = [];
    const reasons: Record<string, number> = {};
    await Promise.all(
      Array.from({ length: callCount }, async (_, index) => {
        try {
          granted.push(await askHold(of, index, amountNanoUsd, amountNanoUsd, pathOf?.(index)));
        } catch (error) {
          if (!hasReason(error, ...refusals)) throw error;
          reasons[error.reason] = (reasons[error.reason] ?? 0) + 1;
        }
      }),
    );
    return { granted, reasons };
  }

  async function expectSound({ accountId }: Customer, openHolds: number): Promise<void> {
    for (const replica of replicas) {
      expect(await replica.verify({ accountId }, asOperator())).toMatchObject({ sumNanoUsd: 0n, openHolds: BigInt(openHolds), drifts: [] });
    }
  }

  it('grant exactly as many equal holds as the balance affords', async () => {
    const of = await customer(31_499n, () => undefined);
    const { granted, reasons } = await askAll(of, 100n);
    expect({ granted: granted.length, reasons }).toEqual({ granted: 314, reasons: { balance_held: callCount - 314 } });
    const { balance } = await at(1).getBalance({ accountId: of.accountId }, asOperator());
    expect(balance).toMatchObject({ heldNanoUsd: 31_400n, availableNanoUsd: 99n, spentNanoUsd: 0n });
    await expectSound(of, 314);
  });

  it('grant exactly as many equal holds as the limit of each key affords', async () => {
    // Fifty calls per key. The limits afford 7, 8, … 26 of them, and each limit is one nano-dollar short of one more.
    const of = await customer(1_000_000n, (key) => BigInt(key + 8) * 100n - 1n);
    const { granted, reasons } = await askAll(of, 100n);
    const affordable = of.keys.map((_, key) => key + 7);
    expect(of.keys.map(({ keyId }) => granted.filter((hold) => hold.keyId === keyId).length)).toEqual(affordable);
    expect(reasons).toEqual({ key_limit_reached: callCount - affordable.reduce((sum, count) => sum + count, 0) });
    await expectSound(of, granted.length);
  });

  /** Makes one call from its hold to its end, at any replica, and records what it requested, was granted and was charged, and when. */
  async function live(of: Customer, index: number, timeline: Timeline): Promise<Hold | undefined> {
    const wanted = BigInt(40 + ((index * 37) % 160));
    const least = index % 3 === 0 ? wanted / 2n : wanted;
    const { keyId } = of.keys[index % keyCount]!;
    const call = timeline.asks(keyId);
    let hold: Hold;
    try {
      hold = await askHold(of, index, wanted, least);
    } catch (error) {
      if (!hasReason(error, ...refusals)) throw error;
      call.refused(error as AppError, least);
      return undefined;
    }
    call.granted(hold.amountNanoUsd);
    const costNanoUsd = (hold.amountNanoUsd * BigInt((index * 53) % 130)) / 100n;
    const { id: holdId, accountId } = hold;
    if (index % 4 === 0)
      await at(index + 1).checkpoint(
        { items: [{ holdId, accountId, costSoFarNanoUsd: costNanoUsd / 2n, ttlMs: 3_600_000 }] },
        asOperator(),
      );
    call.ends();
    const end = async (replica: LedgerService): Promise<Hold> =>
      index % 11 === 5
        ? (await replica.release({ holdId, accountId }, asOperator())).hold!
        : (await replica.settle({ holdId, accountId, keyId, costNanoUsd }, asOperator())).hold!;
    const [ended, again] = await Promise.all([end(at(index + 2)), index % 7 === 0 ? end(at(index)) : undefined]);
    if (again !== undefined) expect(again).toEqual(ended);
    call.ended(ended.capturedNanoUsd);
    const dueNanoUsd = index % 11 !== 5 ? costNanoUsd : index % 4 === 0 ? costNanoUsd / 2n : 0n;
    expect(ended.capturedNanoUsd + ended.shortfallNanoUsd).toBe(dueNanoUsd);
    return ended;
  }

  async function raceOfLives(callers: number): Promise<void> {
    const limitNanoUsd = 3_000n;
    // A little less than the sum of the limits, so that the account and the keys run out one after another.
    const of = await customer(50_000n, () => limitNanoUsd);
    const timeline = new Timeline(of.creditedNanoUsd, limitNanoUsd);
    const lives: Hold[] = [];
    let next = 0;
    const caller = async (): Promise<void> => {
      for (let index = next++; index < callCount; index = next++) {
        const life = await live(of, index, timeline);
        if (life !== undefined) lives.push(life);
      }
    };
    await Promise.all(Array.from({ length: callers }, caller));

    // Everything that was acknowledged is in the books, and nothing else.
    const capturedBy = (keyId?: string): bigint =>
      lives.filter((hold) => keyId === undefined || hold.keyId === keyId).reduce((sum, hold) => sum + hold.capturedNanoUsd, 0n);
    const stored: unknown[] = [];
    // A few at a time: a read that waits five seconds for a connection to the database fails.
    for (let from = 0; from < lives.length; from += 20) {
      const reads = lives.slice(from, from + 20).map(({ id: holdId }) => at(0).getHold({ holdId, accountId: of.accountId }, asOperator()));
      stored.push(...(await Promise.all(reads)).map(({ hold }) => hold));
    }
    expect(stored).toEqual(lives);
    expect(lives.filter(({ state }) => state === HoldState.HOLD_STATE_OPEN)).toEqual([]);
    const { balance } = await at(0).getBalance({ accountId: of.accountId }, asOperator());
    expect(balance).toMatchObject({ heldNanoUsd: 0n, spentNanoUsd: capturedBy() });
    expect(balance!.spentNanoUsd).toBeLessThanOrEqual(of.creditedNanoUsd);
    const { keys } = await at(1).listKeySpend({ accountId: of.accountId, keyIds: of.keys.map(({ keyId }) => keyId) }, asOperator());
    for (const key of keys) {
      expect(key).toMatchObject({ heldNanoUsd: 0n, spentNanoUsd: capturedBy(key.keyId) });
      expect(key.spentNanoUsd).toBeLessThanOrEqual(limitNanoUsd);
    }
    await expectSound(of, 0);

    const { refusedCount, wrong } = timeline.judge();
    expect(wrong).toEqual([]);
    // The test proves nothing unless some calls were granted and some refused.
    expect(refusedCount).toBeGreaterThan(callCount / 20);
    expect(lives.length).toBeGreaterThan(callCount / 5);
  }

  const budgetOf = (scope: BudgetScope, scopeId: string, period: BudgetPeriod, limitNanoUsd: bigint): Budget => ({
    id: newId('bud'),
    scope,
    scopeId,
    period,
    limitNanoUsd,
    soft: false,
    alertPercents: [50, 100],
    version: 1n,
  });

  /** Returns the budgets of each key: two of the account, two of its project and one of its own, so that a path has seven buckets. */
  function budgetsOf(
    of: Customer,
    limits: { account: bigint; day: bigint; project: (project: number) => bigint; key: bigint },
  ): Budget[][] {
    const { BUDGET_SCOPE_ACCOUNT, BUDGET_SCOPE_PROJECT, BUDGET_SCOPE_KEY } = BudgetScope;
    const { BUDGET_PERIOD_LIFETIME, BUDGET_PERIOD_MONTH, BUDGET_PERIOD_DAY } = BudgetPeriod;
    const ofAccount = [
      budgetOf(BUDGET_SCOPE_ACCOUNT, of.accountId, BUDGET_PERIOD_LIFETIME, limits.account),
      budgetOf(BUDGET_SCOPE_ACCOUNT, of.accountId, BUDGET_PERIOD_DAY, limits.day),
    ];
    const ofProjects = Array.from({ length: projectCount }, (_, project) => {
      const projectId = newId('proj');
      return [
        budgetOf(BUDGET_SCOPE_PROJECT, projectId, BUDGET_PERIOD_LIFETIME, limits.project(project)),
        budgetOf(BUDGET_SCOPE_PROJECT, projectId, BUDGET_PERIOD_MONTH, 1_000_000n),
      ];
    });
    return of.keys.map(({ keyId }, key) => [
      ...ofAccount,
      ...ofProjects[key % projectCount]!,
      budgetOf(BUDGET_SCOPE_KEY, keyId, BUDGET_PERIOD_LIFETIME, limits.key),
    ]);
  }

  const spendOf = async (of: Customer, budgets: Budget[], timeZone: string) =>
    (await at(1).listBudgetSpend({ accountId: of.accountId, budgets, timeZone }, asOperator())).budgets;

  it('grant exactly as many equal holds as the budgets on paths of seven buckets afford', async () => {
    const of = await customer(1_000_000n, () => 100_000n);
    // Each project affords 20, 21, 22 or 23 holds, and is one nano-dollar short of one more.
    const paths = budgetsOf(of, { account: 900_000n, day: 900_000n, project: (project) => BigInt(project + 21) * 100n - 1n, key: 90_000n });
    const { granted, reasons } = await askAll(of, 100n, (index) => ({ budgets: paths[index % keyCount]!, timeZone: '' }));
    expect({ granted: granted.length, reasons }).toEqual({ granted: 86, reasons: { budget_reached: callCount - 86 } });
    const held = await Promise.all(paths.slice(0, projectCount).map(async (path) => (await spendOf(of, path, ''))[2]!.heldNanoUsd));
    expect(held).toEqual([2_000n, 2_100n, 2_200n, 2_300n]);
    await expectSound(of, 86);
  });

  it('never overspend a budget while periods turn, budgets change, and charges of earlier periods are refunded', async () => {
    const of = await customer(1_000_000n, () => 8_000n);
    const limits = { account: 40_000n, day: 15_000n, project: () => 9_000n, key: 2_500n };
    const paths = budgetsOf(of, limits);
    const dates = new Map([west, east].map((timeZone) => [timeZone, new Intl.DateTimeFormat('en-CA', { timeZone }).format()]));
    const periodOf = (period: BudgetPeriod, zone: string): string => {
      if (period === BudgetPeriod.BUDGET_PERIOD_DAY) return dates.get(zone)!;
      return period === BudgetPeriod.BUDGET_PERIOD_MONTH ? dates.get(zone)!.slice(0, 'yyyy-mm'.length) : 'lifetime';
    };
    const spent = new Map<string, bigint>();
    const count = (path: readonly Budget[], zone: string, byNanoUsd: bigint): void => {
      for (const { id, period } of path) {
        const name = `${id} ${periodOf(period, zone)}`;
        spent.set(name, (spent.get(name) ?? 0n) + byNanoUsd);
      }
    };
    const startsIn = async (zone: string): Promise<bigint[]> => (await spendOf(of, paths[0]!, zone)).map(({ fromMs }) => fromMs);
    const beganAt = await Promise.all([west, east].map(startsIn));
    let next = 0;
    let grantedCount = 0;
    const caller = async (): Promise<void> => {
      for (let index = next++; index < callCount; index = next++) {
        const zone = index < callCount / 3 || index % 5 === 0 ? west : east;
        const path = paths[index % keyCount]!;
        // The limits of the account change twice under load; a gateway that still has an older version must not matter.
        const version = index % 7 === 0 ? 1n : 1n + BigInt(Math.floor((index * 3) / callCount));
        const limitNanoUsd = [limits.account, 20_000n, 30_000n][Number(version) - 1]!;
        const budgets = [{ ...path[0]!, version, limitNanoUsd }, ...path.slice(1)];
        const wanted = BigInt(40 + ((index * 37) % 160));
        const { keyId } = of.keys[index % keyCount]!;
        try {
          const { id: holdId, accountId, amountNanoUsd } = await askHold(of, index, wanted, wanted / 2n, { budgets, timeZone: zone });
          const costNanoUsd = (amountNanoUsd * BigInt((index * 53) % 150)) / 100n;
          const { hold } = await at(index + 2).settle({ holdId, accountId, keyId, costNanoUsd }, asOperator());
          expect(hold!.capturedNanoUsd + hold!.shortfallNanoUsd).toBe(costNanoUsd);
          grantedCount += 1;
          let netNanoUsd = hold!.capturedNanoUsd;
          if (index % 6 === 0 && netNanoUsd > 1n) {
            const amount = netNanoUsd / 2n;
            const request = { idempotencyKey: newId('refund'), accountId, holdId, amountNanoUsd: amount, reason: 'a race' };
            await at(index + 1).refund(request, asOperator());
            netNanoUsd -= amount;
          }
          count(path, zone, netNanoUsd);
        } catch (error) {
          if (!hasReason(error, ...refusals)) throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: 100 }, caller));
    for (const [at, zone] of [west, east].entries()) {
      for (const path of paths) {
        for (const [index, { spentNanoUsd, heldNanoUsd, fromMs }] of (await spendOf(of, path, zone)).entries()) {
          const { id, period, limitNanoUsd } = path[index]!;
          expect(heldNanoUsd).toBe(0n);
          // A real midnight was reached meanwhile.
          if (fromMs !== beganAt[at]![index]) continue;
          expect(spentNanoUsd).toBe(spent.get(`${id} ${periodOf(period, zone)}`) ?? 0n);
          expect(spentNanoUsd).toBeLessThanOrEqual(limitNanoUsd);
        }
      }
    }
    await expectSound(of, 0);
    // The test proves nothing unless budgets refused calls and admitted others.
    expect(grantedCount).toBeGreaterThan(callCount / 10);
    expect(grantedCount).toBeLessThan(callCount);
  });

  it('refuse only what cannot be paid, with all calls at once', () => raceOfLives(callCount));

  it('refuse only what cannot be paid, with a few calls at a time', () => raceOfLives(60));
});
