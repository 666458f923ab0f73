// Callers that hold and settle in a closed loop: each begins its next cycle as soon as the last one is durable.
import { newId } from '#kit/id.js';
import type { Budget } from '#proto/budget/v1/budget.js';
import type { Operation } from '#services/ledger/books/model.js';
import { holdOperation, settleOperation } from '#services/ledger/requests/operations.js';
import type { Customer } from './books.ts';
import { percentile } from '../../load.ts';

/** Executes one operation, and resolves when it is durable. The result of a refused operation has a `refusal`. */
export type Doer = (operation: Operation) => Promise<{ readonly refusal?: Error | undefined }>;

/** Latencies of operations, in milliseconds. */
export interface Latency {
  readonly p50: number;
  readonly p99: number;
}

/** The result of a run. The CPU time is that of this process, including the callers, and excludes a database server. */
export interface Measured {
  readonly cyclesPerSecond: number;
  readonly cpuUsPerCycle: number;
  readonly hold: Latency;
  readonly settle: Latency;
}

/** Creates this many callers. Together they use all customers, in a different order than that of their ids. */
export function callersOf(customers: readonly Customer[], callers: number): (() => Customer)[] {
  return Array.from({ length: callers }, () => () => customers[Math.floor(Math.random() * customers.length)]!);
}

/** Returns the budgets on the path of a call. */
export type BudgetsOf = (customer: Customer) => Budget[];

/** Runs the callers for this many seconds. Throws errors of a cycle, and refusals too, because there is enough money for all. */
export async function runCycles(
  callers: readonly (() => Customer)[],
  doer: Doer,
  seconds: number,
  budgetsOf: BudgetsOf = () => [],
): Promise<Measured> {
  const holds: number[] = [];
  const settles: number[] = [];
  const startedAtMs = performance.now();
  const endAtMs = startedAtMs + seconds * 1000;
  const cpuBefore = process.cpuUsage();
  await Promise.all(
    callers.map(async (nextCustomer) => {
      while (performance.now() < endAtMs) {
        const customer = nextCustomer();
        const { accountId, keyId } = customer;
        const holdId = newId('req');
        const request = {
          holdId,
          accountId,
          keyId,
          keyLimit: { limitNanoUsd: undefined, version: 1n },
          amountNanoUsd: 1000n,
          minAmountNanoUsd: 1000n,
          ttlMs: 120_000,
          budgets: budgetsOf(customer),
          timeZone: 'Asia/Shanghai',
        };
        const fromMs = performance.now();
        await granted(doer(holdOperation(request, Date.now())));
        const heldMs = performance.now();
        await granted(doer(settleOperation({ holdId, accountId, keyId, costNanoUsd: 700n }, true)));
        holds.push(heldMs - fromMs);
        settles.push(performance.now() - heldMs);
      }
    }),
  );
  const cpu = process.cpuUsage(cpuBefore);
  return {
    cyclesPerSecond: (settles.length * 1000) / (performance.now() - startedAtMs),
    cpuUsPerCycle: (cpu.user + cpu.system) / settles.length,
    hold: latencyOf(holds),
    settle: latencyOf(settles),
  };
}

async function granted(outcome: ReturnType<Doer>): Promise<void> {
  const { refusal } = await outcome;
  if (refusal !== undefined) throw refusal;
}

function latencyOf(values: number[]): Latency {
  values.sort((a, b) => a - b);
  return { p50: percentile(values, 0.5), p99: percentile(values, 0.99) };
}
