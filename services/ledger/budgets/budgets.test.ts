// Budgets through the ledger and its databases: periods that turn, time zones that change, refunds of earlier periods, and their books.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { hourMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { Archiver } from '../archive/archiver.js';
import { ArchiveStore } from '../store/archive.js';
import { Audit } from '../store/audit.js';
import { Reads } from '../store/reads.js';
import { quietConfig, startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, refundRequest, refusalOf, settleRequest } from '../testing/requests.js';

const { BUDGET_PERIOD_LIFETIME, BUDGET_PERIOD_MONTH, BUDGET_PERIOD_WEEK, BUDGET_PERIOD_DAY } = BudgetPeriod;
const { BUDGET_SCOPE_ACCOUNT, BUDGET_SCOPE_PROJECT, BUDGET_SCOPE_KEY } = BudgetScope;

describe.each(testEngines)('budgets on %s', (engine) => {
  let ledger: TestLedger;

  beforeAll(async () => {
    ledger = await startTestLedger(engine);
  });

  afterAll(() => ledger.stop());

  /** Sets the clock to this instant, or to the same time of a later year if the clock is past it. */
  const setClock = (iso: string): void => ledger.clock.step(Date.parse(iso) - ledger.clock.nowMs());
  const budgetOf = (customer: Customer, limitNanoUsd: bigint, fields: Partial<Budget> = {}): Budget => ({
    ...Budget.fromPartial({
      id: newId('bud'),
      scope: BUDGET_SCOPE_ACCOUNT,
      scopeId: customer.accountId,
      period: BUDGET_PERIOD_DAY,
      version: 1n,
    }),
    limitNanoUsd,
    ...fields,
  });
  const spend = async (customer: Customer, amountNanoUsd: bigint, budgets: Budget[], timeZone = ''): Promise<string> => {
    const { hold } = await ledger.service.hold(holdRequest(customer, amountNanoUsd, { budgets, timeZone }));
    await ledger.service.settle(settleRequest(customer, hold!.id, amountNanoUsd));
    return hold!.id;
  };
  const figures = async (customer: Customer, budgets: Budget[], timeZone = '') =>
    (await ledger.service.listBudgetSpend({ accountId: customer.accountId, budgets, timeZone })).budgets.map(
      ({ spentNanoUsd, heldNanoUsd, leftNanoUsd }) => [spentNanoUsd, heldNanoUsd, leftNanoUsd],
    );
  const drifts = async (customer: Customer) => (await ledger.service.verify({ accountId: customer.accountId })).drifts;

  it('count a call in the period in which it was held, however late it settles', async () => {
    setClock('2027-02-28T23:59:59.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 100n), budgetOf(customer, 150n, { period: BUDGET_PERIOD_MONTH })];
    const { hold } = await ledger.service.hold(holdRequest(customer, 80n, { budgets }));
    expect(await figures(customer, budgets)).toEqual([
      [0n, 80n, 20n],
      [0n, 80n, 70n],
    ]);
    ledger.clock.advance(1_000);
    expect(await figures(customer, budgets)).toEqual([
      [0n, 0n, 100n],
      [0n, 0n, 150n],
    ]);
    await ledger.service.hold(holdRequest(customer, 100n, { budgets }));
    await ledger.service.settle(settleRequest(customer, hold!.id, 80n));
    expect(await figures(customer, budgets)).toEqual([
      [0n, 100n, 0n],
      [0n, 100n, 50n],
    ]);
    ledger.clock.step(-1_000);
    expect(await figures(customer, budgets)).toEqual([
      [80n, 0n, 20n],
      [80n, 0n, 70n],
    ]);
    expect(await drifts(customer)).toEqual([]);
  });

  it('are lowered by a refund in the period that was charged', async () => {
    setClock('2027-03-10T12:00:00.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 100n)];
    const holdId = await spend(customer, 90n, budgets);
    ledger.clock.step(24 * hourMs);
    await spend(customer, 30n, budgets);
    await ledger.service.refund(refundRequest(customer, holdId, 50n));
    expect(await figures(customer, budgets)).toEqual([[30n, 0n, 70n]]);
    ledger.clock.step(-24 * hourMs);
    expect(await figures(customer, budgets)).toEqual([[40n, 0n, 60n]]);
    expect(await drifts(customer)).toEqual([]);
  });

  it('report the share of a project in the response to a hold, and in that to its repeat', async () => {
    setClock('2027-03-15T23:00:00.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const ofProject = { scope: BUDGET_SCOPE_PROJECT, scopeId: newId('proj') };
    const budgets = [budgetOf(customer, 100n), budgetOf(customer, 200n, ofProject)];
    await spend(customer, 50n, budgets);
    const request = holdRequest(customer, 10n, { budgets, withProjectShare: true });
    const { projectShare } = await ledger.service.hold(request);
    expect(projectShare).toMatchObject({ budgetId: budgets[1]!.id, spentPercent: 25 });
    expect(await ledger.service.hold(request)).toMatchObject({ replayed: true, projectShare });
    expect(await ledger.service.hold({ ...request, withProjectShare: undefined })).toMatchObject({ projectShare: undefined });
    // In the next period, the call does not count.
    ledger.clock.step(hourMs);
    expect(await ledger.service.hold(request)).toMatchObject({ replayed: true, projectShare: undefined });
  });

  it('may have the highest limit and an alert at ten times of it', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const limitNanoUsd = 2n ** 63n - 1n;
    const budgets = [budgetOf(customer, limitNanoUsd, { soft: true, alertPercents: [1000] })];
    await spend(customer, 10n, budgets);
    expect(await figures(customer, budgets)).toEqual([[10n, 0n, limitNanoUsd - 10n]]);
  });

  it('give one allowance per date, whatever the time zone changes to', async () => {
    // 04:00 on 11 March in Shanghai.
    setClock('2027-03-10T20:00:00.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 100n)];
    await spend(customer, 100n, budgets, 'UTC');
    await spend(customer, 60n, budgets, 'Asia/Shanghai');
    expect(await figures(customer, budgets, 'UTC')).toEqual([[100n, 0n, 0n]]);
    expect(await figures(customer, budgets, 'America/New_York')).toEqual([[100n, 0n, 0n]]);
    // The new day has begun in Shanghai only. When it begins in UTC, it is the same period.
    ledger.clock.step(4 * hourMs);
    expect(await figures(customer, budgets, 'UTC')).toEqual([[60n, 0n, 40n]]);
    expect((await refusalOf(ledger.service.hold(holdRequest(customer, 41n, { budgets })))).details).toMatchObject({
      resets_at: '2027-03-12T00:00:00+00:00',
    });
    expect(await drifts(customer)).toEqual([]);
  });

  it('begin and end at local midnight when the clocks change', async () => {
    const zone = 'America/New_York';
    // The clocks go forward at 02:00, so the day has 23 hours.
    setClock('2027-03-14T05:00:00.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 100n)];
    const bounds = async () => {
      const { budgets: shown } = await ledger.service.listBudgetSpend({ accountId: customer.accountId, budgets, timeZone: zone });
      return [shown[0]!.fromMs, shown[0]!.untilMs].map((ms) => new Date(Number(ms)).toISOString());
    };
    await spend(customer, 100n, budgets, zone);
    expect(await bounds()).toEqual(['2027-03-14T05:00:00.000Z', '2027-03-15T04:00:00.000Z']);
    ledger.clock.step(23 * hourMs - 1);
    const refusal = await refusalOf(ledger.service.hold(holdRequest(customer, 1n, { budgets, timeZone: zone })));
    expect(refusal).toMatchObject({ reason: 'budget_reached', details: { resets_at: '2027-03-15T00:00:00-04:00', time_zone: zone } });
    ledger.clock.step(1);
    await spend(customer, 100n, budgets, zone);
    expect(await bounds()).toEqual(['2027-03-15T04:00:00.000Z', '2027-03-16T04:00:00.000Z']);
  });

  it('hold all buckets of a path or none', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const projectId = newId('proj');
    const budgets = [
      budgetOf(customer, 500n, { period: BUDGET_PERIOD_LIFETIME }),
      budgetOf(customer, 400n, { period: BUDGET_PERIOD_MONTH }),
      budgetOf(customer, 300n, { scope: BUDGET_SCOPE_PROJECT, scopeId: projectId, period: BUDGET_PERIOD_WEEK }),
      budgetOf(customer, 200n, { scope: BUDGET_SCOPE_PROJECT, scopeId: projectId }),
      budgetOf(customer, 100n, { scope: BUDGET_SCOPE_KEY, scopeId: customer.keyId, soft: true }),
    ];
    const keyLimit = { limitNanoUsd: 600n, version: 1n };
    await ledger.service.hold(holdRequest(customer, 150n, { budgets, keyLimit }));
    const refusal = await refusalOf(ledger.service.hold(holdRequest(customer, 51n, { budgets, keyLimit })));
    expect(refusal).toMatchObject({
      reason: 'budget_reached',
      details: { budget_id: budgets[3]!.id, scope: 'project', period: 'day' },
      retryAfterMs: 2000,
    });
    expect(await figures(customer, budgets)).toEqual([
      [0n, 150n, 350n],
      [0n, 150n, 250n],
      [0n, 150n, 150n],
      [0n, 150n, 50n],
      [0n, 150n, 0n],
    ]);
    const granted = await ledger.service.hold(holdRequest(customer, 900n, { budgets, keyLimit, minAmountNanoUsd: 1n }));
    expect(granted.hold!.amountNanoUsd).toBe(50n);
    expect(await drifts(customer)).toEqual([]);
  });

  it('refuse by the narrowest that is reached, and of those by the longest, in whatever order they are sent', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const ofProject = { scope: BUDGET_SCOPE_PROJECT, scopeId: newId('proj') };
    const ofKey = { scope: BUDGET_SCOPE_KEY, scopeId: customer.keyId };
    const budgets = [
      budgetOf(customer, 10n),
      budgetOf(customer, 10n, ofProject),
      budgetOf(customer, 10n, ofKey),
      budgetOf(customer, 10n, { ...ofKey, period: BUDGET_PERIOD_MONTH }),
    ];
    const refusedBy = async (sent: Budget[]) =>
      (await refusalOf(ledger.service.hold(holdRequest(customer, 11n, { budgets: sent })))).details['budget_id'];
    for (const [first, then] of [
      [3, 2],
      [2, 1],
      [1, 0],
    ] as const) {
      expect(await refusedBy([budgets[first]!, budgets[then]!])).toBe(budgets[first]!.id);
      expect(await refusedBy([budgets[then]!, budgets[first]!])).toBe(budgets[first]!.id);
    }
  });

  it('count separately in periods of different lengths that begin on the same day', async () => {
    setClock('2027-09-01T12:00:00.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const daily = budgetOf(customer, 100n);
    await spend(customer, 30n, [daily]);
    expect(await figures(customer, [{ ...daily, period: BUDGET_PERIOD_MONTH }])).toEqual([[0n, 0n, 100n]]);
    expect(await figures(customer, [daily])).toEqual([[30n, 0n, 70n]]);
  });

  it('are not in the path of calls any more once they are removed', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 100n)];
    const { hold } = await ledger.service.hold(holdRequest(customer, 100n, { budgets }));
    await spend(customer, 200n, []);
    await ledger.service.settle(settleRequest(customer, hold!.id, 70n));
    expect(await figures(customer, budgets)).toEqual([[70n, 0n, 30n]]);
    expect(await drifts(customer)).toEqual([]);
  });

  it('agree with the books when their calls are archived, and are not forgotten', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-budgets-'));
    setClock('2027-03-20T12:00:00.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 500n, { period: BUDGET_PERIOD_LIFETIME })];
    await spend(customer, 40n, budgets);
    ledger.clock.step(40 * 24 * hourMs);
    await spend(customer, 2n, budgets);
    const { db, clock, log } = ledger;
    const parts = { reads: new Reads(db), audit: new Audit(db), store: new ArchiveStore(db), clock, log };
    expect(await new Archiver({ ...parts, config: { ...quietConfig, retentionDays: 35 } }).archive(folder)).toBeGreaterThan(1);
    rmSync(folder, { recursive: true });
    expect(await figures(customer, budgets)).toEqual([[42n, 0n, 458n]]);
    expect(await drifts(customer)).toEqual([]);
  });

  it('are reported by Verify when their bucket or the path of a hold is wrong', async () => {
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const [budget] = [budgetOf(customer, 500n, { period: BUDGET_PERIOD_LIFETIME })];
    await spend(customer, 40n, [budget]);
    const { hold } = await ledger.service.hold(holdRequest(customer, 7n, { budgets: [budget] }));
    const bucket = () => ledger.db.knex('bucket').where('budget', 'like', `%${budget.id}%`);
    await bucket().update({ spent_nano_usd: 39, held_nano_usd: 8 });
    expect((await drifts(customer)).map(({ subject, storedNanoUsd, rebuiltNanoUsd }) => [subject, storedNanoUsd, rebuiltNanoUsd])).toEqual([
      [`spent of ${budget.id}`, 39n, 40n],
      [`held of ${budget.id}`, 8n, 7n],
    ]);
    await bucket().update({ spent_nano_usd: 40, held_nano_usd: 7 });
    expect(await drifts(customer)).toEqual([]);
    await ledger.db
      .knex('hold')
      .where({ id: Buffer.from(hold!.id.slice(4), 'hex') })
      .update({ budgets: null });
    expect(await drifts(customer)).toMatchObject([{ subject: `held of ${budget.id}`, storedNanoUsd: 7n, rebuiltNanoUsd: 0n }]);
  });

  it('return a hold’s first response to a repeat, even when the period has ended and the budget has changed', async () => {
    setClock('2027-06-30T23:59:59.000Z');
    const customer = await fundedCustomer(ledger.service, 1_000n);
    const budgets = [budgetOf(customer, 100n)];
    const request = holdRequest(customer, 80n, { budgets });
    await ledger.service.hold(request);
    ledger.clock.step(2_000);
    const changed = [{ ...budgets[0]!, limitNanoUsd: 1n, version: 2n }];
    expect(await ledger.service.hold({ ...request, budgets: changed })).toMatchObject({ replayed: true, hold: { amountNanoUsd: 80n } });
    expect(await figures(customer, budgets)).toEqual([[0n, 0n, 100n]]);
    expect(await drifts(customer)).toEqual([]);
  });

  it.each<[string, string, (customer: Customer) => { budgets?: Budget[]; timeZone?: string }]>([
    ['an unknown time zone', 'time_zone', (customer) => ({ budgets: [budgetOf(customer, 1n)], timeZone: 'Mars/Olympus' })],
    ['more than six budgets', 'budgets', (customer) => ({ budgets: Array.from({ length: 7 }, () => budgetOf(customer, 1n)) })],
    [
      'a budget twice',
      'budgets[1].id',
      (customer) => ({ budgets: Array.from({ length: 2 }, () => budgetOf(customer, 1n, { id: `bud_${'a'.repeat(32)}` })) }),
    ],
    ['the id of something else', 'budgets[0].id', (customer) => ({ budgets: [budgetOf(customer, 1n, { id: customer.keyId })] })],
    ['no scope', 'budgets[0].scope', (customer) => ({ budgets: [budgetOf(customer, 1n, { scope: 0 })] })],
    ['a negative version', 'budgets[0].version', (customer) => ({ budgets: [budgetOf(customer, 1n, { version: -1n })] })],
    ['no period', 'budgets[0].period', (customer) => ({ budgets: [budgetOf(customer, 1n, { period: 0 })] })],
    ['a negative limit', 'budgets[0].limit_nano_usd', (customer) => ({ budgets: [budgetOf(customer, -1n)] })],
    ['the id of another kind', 'budgets[0].scope_id', (customer) => ({ budgets: [budgetOf(customer, 1n, { scope: BUDGET_SCOPE_KEY })] })],
    ...[
      ['percents that descend', [80, 50]],
      ['a percent twice', [50, 50]],
      ['a percent of zero', [0]],
      ['a percent beyond 1000', [1001]],
      ['more than 20 percents', Array.from({ length: 21 }, (_, index) => index + 1)],
    ].map(([what, alertPercents]): [string, string, (customer: Customer) => { budgets: Budget[] }] => [
      what as string,
      'budgets[0].alert_percents',
      (customer) => ({ budgets: [budgetOf(customer, 1n, { alertPercents: alertPercents as number[] })] }),
    ]),
  ])('refuse %s and name the field', async (_, field, fieldsOf) => {
    const customer = await fundedCustomer(ledger.service, 100n);
    expect(await refusalOf(ledger.service.hold(holdRequest(customer, 1n, fieldsOf(customer))))).toMatchObject({
      reason: 'invalid_request',
      details: { field },
    });
  });
});
