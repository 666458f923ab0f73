// The round trips of a batch to the database, whatever its size. The caller of a call waits for those of its hold.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { listStatements, type StatementList } from '#kit/testing/statements.js';
import { newId } from '#kit/id.js';
import { Budget, BudgetPeriod, BudgetScope } from '#proto/budget/v1/budget.js';
import { startTestLedger, type TestLedger } from '../testing/ledger.js';
import { type Customer, fundedCustomer, holdRequest, refusalOf, settleRequest } from '../testing/requests.js';

let ledger: TestLedger;
let customer: Customer;
let statements: StatementList;

beforeAll(async () => {
  ledger = await startTestLedger('mysql');
  customer = await fundedCustomer(ledger.service, 1000n);
  // Creates the row of the key.
  await ledger.service.hold(holdRequest(customer, 1n));
  statements = listStatements();
});

afterAll(async () => {
  await statements.stop();
  await ledger.stop();
});

const requests = (amount: bigint) => Array.from({ length: 10 }, () => holdRequest(customer, amount));
const holdAll = (holds: ReturnType<typeof requests>) => Promise.all(holds.map((request) => ledger.service.hold(request)));

it('a batch of holds costs four', async () => {
  expect(await statements.of(() => holdAll(requests(10n)))).toEqual(['SELECT bucket', 'INSERT bucket', 'INSERT hold', 'COMMIT']);
});

it('a batch of settlements costs six', async () => {
  const holds = requests(10n);
  await holdAll(holds);
  const settle = () => Promise.all(holds.map(({ holdId }) => ledger.service.settle(settleRequest(customer, holdId, 7n))));
  expect(await statements.of(settle)).toEqual(['SELECT bucket', 'SELECT hold', 'INSERT bucket', 'INSERT hold', 'INSERT journal', 'COMMIT']);
});

it('a batch costs the same with five budgets per call, once their buckets exist', async () => {
  const budgets = Array.from({ length: 5 }, () =>
    Budget.fromPartial({
      id: newId('bud'),
      scope: BudgetScope.BUDGET_SCOPE_ACCOUNT,
      scopeId: customer.accountId,
      period: BudgetPeriod.BUDGET_PERIOD_MONTH,
      limitNanoUsd: 1_000_000n,
      version: 1n,
    }),
  );
  await ledger.service.hold(holdRequest(customer, 1n, { budgets }));
  const holds = requests(10n).map((request) => ({ ...request, budgets }));
  expect(await statements.of(() => holdAll(holds))).toEqual(['SELECT bucket', 'INSERT bucket', 'INSERT hold', 'COMMIT']);
  const settle = () => Promise.all(holds.map(({ holdId }) => ledger.service.settle(settleRequest(customer, holdId, 7n))));
  expect(await statements.of(settle)).toEqual(['SELECT bucket', 'SELECT hold', 'INSERT bucket', 'INSERT hold', 'INSERT journal', 'COMMIT']);
});

it('a repeated hold is looked up only once it cannot be inserted, or is refused', async () => {
  const [request] = requests(10n);
  await ledger.service.hold(request!);
  const repeat = async () => expect(await ledger.service.hold(request!)).toMatchObject({ replayed: true });
  expect(await statements.of(repeat)).toEqual([
    'SELECT bucket',
    'INSERT bucket',
    'INSERT hold',
    'ROLLBACK',
    'SELECT bucket',
    'SELECT hold',
    'COMMIT',
  ]);
  const { balance } = await ledger.service.getBalance({ accountId: customer.accountId });
  await ledger.service.hold(holdRequest(customer, balance!.availableNanoUsd));
  expect(await statements.of(repeat)).toEqual(['SELECT bucket', 'SELECT bucket', 'SELECT hold', 'COMMIT']);
  expect(await refusalOf(ledger.service.hold(holdRequest(customer, 10n)))).toMatchObject({ reason: 'balance_held' });
});
