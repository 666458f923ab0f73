// Alerts of budgets over a real database: due with the charge that reaches a share of the limit, and sent once.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { hourMs } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { testEngines } from '#kit/testing/database.js';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { PutAlertRequest } from '#proto/ledger/v1/alerts.js';
import { type Customer, fundedCustomer, holdRequest, refundRequest, settleRequest } from '../../testing/requests.js';
import { accountColumns } from '../../store/rows.js';
import { messagesPerHourMax } from '../model.js';
import { startTestAlerts, type TestAlerts } from '../testing/alerts.js';

const usd = 1_000_000_000n;

describe.each(testEngines)('alerts of budgets on %s', (engine) => {
  let alerts: TestAlerts;
  let customer: Customer;
  let budget: Budget;

  beforeEach(async () => {
    alerts = await startTestAlerts(engine);
    customer = await fundedCustomer(alerts.ledger.service, 1_000n * usd);
    budget = Budget.fromPartial({
      id: newId('bud'),
      scope: BudgetScope.BUDGET_SCOPE_PROJECT,
      scopeId: newId('proj'),
      period: BudgetPeriod.BUDGET_PERIOD_MONTH,
      limitNanoUsd: 10n * usd,
      alertPercents: [50, 80, 100, 150],
      soft: true,
      version: 1n,
    });
  });
  afterEach(() => alerts.stop());

  /** The low-balance alert is off; its addresses are those of budgets too. */
  const put = (emails = ['ada@example.com']) =>
    alerts.service.putAlert(PutAlertRequest.fromPartial({ accountId: customer.accountId, enabled: false, thresholdNanoUsd: usd, emails }));
  const spend = async (amountNanoUsd: bigint, budgets = [budget], timeZone = 'Asia/Shanghai'): Promise<string> => {
    const request = holdRequest(customer, amountNanoUsd, { budgets, timeZone });
    const { hold } = await alerts.ledger.service.hold(request);
    await alerts.ledger.service.settle(settleRequest(customer, hold!.id, amountNanoUsd));
    return hold!.id;
  };
  const check = async (): Promise<void> => {
    await alerts.watcher.check();
    await alerts.shipped();
  };
  const percents = (): unknown[] => alerts.notifier.events.map(({ data }) => (data as { percent: number }).percent);

  it('report the budget and its period to every address of the account, and as an event', async () => {
    await put(['ada@example.com', 'bob@example.com']);
    await spend(4n * usd);
    await check();
    expect(alerts.notifier.sent).toEqual([]);
    await spend(usd);
    await check();
    expect(alerts.notifier.mails.map(({ to }) => to)).toEqual(['ada@example.com', 'bob@example.com']);
    expect(alerts.notifier.mails[0]!.subject).toBe('50% of a monthly budget spent: $5 of $10');
    expect(alerts.notifier.mails[0]!.text).toContain(
      `The monthly budget of project ${budget.scopeId} of account ${customer.accountId} has reached 50%: $5 of $10 is spent.\n` +
        'It is a soft budget: no calls are refused.\nIt resets at 2027-02-01T00:00:00+08:00.',
    );
    expect(alerts.notifier.events).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        type: 'budget.reached',
        timestamp: new Date(alerts.ledger.clock.nowMs()).toISOString(),
        account_id: customer.accountId,
        data: {
          budget_id: budget.id,
          scope: 'project',
          scope_id: budget.scopeId,
          period: 'month',
          period_start: '2027-01-01',
          resets_at: '2027-02-01T00:00:00+08:00',
          soft: true,
          percent: 50,
          limit_usd: '10',
          spent_usd: '5',
        },
      },
    ]);
  });

  it('name the end of the period in the time zone that the account has changed to', async () => {
    await put();
    await spend(4n * usd, [budget], 'UTC');
    await spend(usd, [budget], 'America/New_York');
    await check();
    expect(alerts.notifier.events).toMatchObject([{ data: { period_start: '2027-01-01', resets_at: '2027-02-01T00:00:00-05:00' } }]);
    expect(alerts.notifier.mails[0]!.text).toContain('It resets at 2027-02-01T00:00:00-05:00.');
  });

  it('are sent once per share and period, however many processes send them and whatever is refunded', async () => {
    await put();
    const holdId = await spend(9n * usd);
    const replica = await alerts.replica();
    await Promise.all([alerts.watcher.check(), replica.watcher.check()]);
    await check();
    expect(percents()).toEqual([80]);
    await alerts.ledger.service.refund(refundRequest(customer, holdId, 9n * usd));
    await spend(9n * usd);
    await check();
    expect(percents()).toEqual([80]);
    await spend(7n * usd);
    await check();
    expect(percents()).toEqual([80, 150]);
    alerts.ledger.clock.advance(31 * 24 * hourMs);
    await spend(5n * usd);
    await check();
    expect(percents()).toEqual([80, 150, 50]);
  });

  it('are sent for each budget and share that has become due since the last check', async () => {
    const other = { ...budget, id: newId('bud') };
    for (const amountNanoUsd of [5n * usd, 3n * usd]) await spend(amountNanoUsd, [budget, other]);
    await check();
    const sent = alerts.notifier.events.map(({ data }) => data as { budget_id: string; percent: number });
    expect(sent.map(({ budget_id, percent }) => `${budget_id} ${percent}`).toSorted()).toEqual(
      [budget, other].flatMap(({ id }) => [`${id} 50`, `${id} 80`]).toSorted(),
    );
    await check();
    expect(alerts.notifier.events).toHaveLength(4);
  });

  it('are events even without a mail address, and no mail is sent later', async () => {
    await spend(5n * usd);
    await check();
    await put();
    await check();
    expect(percents()).toEqual([50]);
    expect(alerts.notifier.sent).toEqual([]);
    await spend(3n * usd);
    await check();
    expect(percents()).toEqual([50, 80]);
    expect(alerts.notifier.sent).toHaveLength(1);
  });

  it('are not withdrawn from its addresses when an alert that is off is saved again', async () => {
    await put();
    await spend(5n * usd);
    await check();
    await put(['ada@example.com', 'bob@example.com']);
    await alerts.shipped();
    const { entry } = [...alerts.notifier.entries.values()].at(-1)!;
    expect(entry).toEqual({ $case: 'destinations', value: { destinations: ['ada@example.com', 'bob@example.com'] } });
  });

  it('wait for the next hour when the account has no messages left, and do not hold up other accounts', async () => {
    await put(Array.from({ length: 10 }, (_, at) => `u${at}@example.com`));
    for (let tests = 0; tests < messagesPerHourMax / 10; tests += 1) await alerts.service.testAlert({ accountId: customer.accountId });
    alerts.notifier.entries.clear();
    await spend(5n * usd);
    const first = customer;
    customer = await fundedCustomer(alerts.ledger.service, 100n * usd);
    await put();
    await spend(8n * usd, [{ ...budget, id: newId('bud') }]);
    await check();
    expect(alerts.notifier.events.map(({ account_id }) => account_id)).toEqual([customer.accountId]);
    alerts.ledger.clock.advance(hourMs + 1);
    await check();
    expect(alerts.notifier.events.map(({ account_id }) => account_id)).toEqual([customer.accountId, first.accountId]);
  });

  it('are sent although a hundred of another account wait for the next hour', async () => {
    const customers = [customer, await fundedCustomer(alerts.ledger.service, 1_000n * usd)];
    const placeOf = ({ accountId }: Customer): string => {
      const { slot, account_id } = accountColumns(accountId, engine);
      return `${String(slot).padStart(4, '0')} ${account_id.toString('hex')}`;
    };
    // Alerts are read in this order.
    const [first, second] = customers.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1)) as [Customer, Customer];
    customer = first;
    await put(Array.from({ length: 10 }, (_, at) => `u${at}@example.com`));
    for (let tests = 0; tests < messagesPerHourMax / 10; tests += 1) await alerts.service.testAlert({ accountId: first.accountId });
    alerts.notifier.entries.clear();
    const budgetsPerCall = 5;
    for (let due = 0; due < 105; due += budgetsPerCall)
      await spend(
        5n * usd,
        Array.from({ length: budgetsPerCall }, () => ({ ...budget, id: newId('bud') })),
      );
    customer = second;
    await spend(5n * usd);
    await check();
    expect(alerts.notifier.events).toEqual([]);
    await check();
    expect(alerts.notifier.events.map(({ account_id }) => account_id)).toEqual([second.accountId]);
    alerts.ledger.clock.advance(hourMs + 1);
    await alerts.service.putAlert(
      PutAlertRequest.fromPartial({ accountId: first.accountId, enabled: false, thresholdNanoUsd: usd, emails: [] }),
    );
    await check();
    await check();
    expect(alerts.notifier.events).toHaveLength(1 + 105);
  });

  it('of refused keys go to the same addresses, and are an event even when these had too many mails', async () => {
    let refusedAtMs = 1_800_000_000_000n;
    const request = { ...customer, projectId: newId('proj'), reason: 'budget_reached' };
    // Each alert is about another first refusal, because a repeat is not sent again.
    const alertRefused = () => alerts.service.alertKeyRefused({ ...request, refusedAtMs: refusedAtMs++ });
    expect(await alertRefused()).toEqual({ mails: 0 });
    await put();
    expect(await alertRefused()).toEqual({ mails: 1 });
    await put(Array.from({ length: 10 }, (_, at) => `u${at}@example.com`));
    for (let sent = 10; sent <= messagesPerHourMax; sent += 10) {
      const expected = sent < messagesPerHourMax ? 10 : 0;
      expect(await alertRefused()).toEqual({ mails: expected });
    }
    await alerts.shipped();
    const { accountId, keyId } = customer;
    expect(alerts.notifier.events).toHaveLength(2 + messagesPerHourMax / 10);
    expect(alerts.notifier.events[0]).toMatchObject({
      type: 'key.refused',
      timestamp: '2027-01-15T08:00:00.000Z',
      account_id: accountId,
      data: { key_id: keyId, reason: 'budget_reached' },
    });
    expect(alerts.notifier.mails[0]!.text).toContain(`https://console.example.com/console/accounts/${accountId}/keys/${keyId}`);
  });
});
