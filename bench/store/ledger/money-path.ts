// Measures the cost of charging a call in single mode: hold, usage record and settlement, from the gateway's clients through the codec and
// every decorator to a synced SQLite file, without HTTP and models.
import { tmpdir } from 'node:os';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Access } from '#kit/rpc/access/access.js';
import { systemClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { openDatabase } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import { callContext } from '#client/call-context.js';
import { localClient } from '#kit/rpc/local/local-client.js';
import { decorateService } from '#kit/rpc/chain/standard-chain.js';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { DepositSource, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { Outcome, MeteringServiceDefinition, RecordUsageRequest, UsageSource } from '#proto/metering/v1/metering.js';
import { createLedger, ledgerSettings } from '#services/ledger/index.js';
import { createMetering, meteringSettings } from '#services/metering/index.js';
import { percentile } from '../../load.ts';
import { printCircumstances, printTable } from '../../table.ts';

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    callers: { type: 'string', default: '1,32,64' },
    accounts: { type: 'string', default: '100' },
  },
});
const rounds = Number(options.rounds);
const seconds = Number(options.seconds);

const folder = mkdtempSync(join(tmpdir(), 'tollgate-bench-'));
const open = (name: string) => openDatabase(`sqlite:${join(folder, `${name}.db`)}`);
const log = createLogger({ name: 'bench', level: 'error' }, process.stderr);
const books = open('books');
const access = new Access();
const ledgerModule = createLedger(parseSettings(ledgerSettings, {}), {
  db: books,
  clock: systemClock,
  log,
  access,
  auth: { appendAuditEvents: async () => ({}) },
});
const ledgerService = decorateService(LedgerServiceDefinition, ledgerModule.service, { access, log });
const meteringModule = createMetering(parseSettings(meteringSettings, {}), {
  db: books,
  clock: systemClock,
  log,
  access,
  ledger: localClient(LedgerServiceDefinition, ledgerService, { caller: 'metering' }),
  settleInTransaction: ledgerModule.settleInTransaction,
  catalog: { listPriceVersions: async () => ({ prices: [], nextPageToken: '' }) },
  auth: { appendAuditEvents: async () => ({}) },
});
await ledgerModule.start();
await meteringModule.start();
const ledger = localClient(LedgerServiceDefinition, ledgerService, { caller: 'gateway' });
const metering = localClient(
  MeteringServiceDefinition,
  decorateService(MeteringServiceDefinition, meteringModule.service, { access, log }),
  { caller: 'gateway' },
);

const price = PriceVersion.fromPartial({
  id: newId('price'),
  modelId: 'bench/model',
  inputNanoUsdPerMtok: 1_000_000_000n,
  outputNanoUsdPerMtok: 2_000_000_000n,
});
const customers = Array.from({ length: Number(options.accounts) }, () => ({ accountId: newId('acct'), keyId: newId('key') }));
const context = () => callContext({ caller: 'gateway', timeoutMs: 10_000 });
for (const { accountId } of customers) {
  const operator = localClient(LedgerServiceDefinition, ledgerService, { caller: 'operator' });
  await operator.deposit(
    { idempotencyKey: 'start', accountId, amountNanoUsd: 10n ** 15n, source: DepositSource.DEPOSIT_SOURCE_CASH, reason: '' },
    callContext({ caller: 'operator', timeoutMs: 10_000 }),
  );
}

async function oneCall(): Promise<void> {
  const { accountId, keyId } = customers[Math.floor(Math.random() * customers.length)]!;
  const id = newId('req');
  const keyLimit = { limitNanoUsd: undefined, version: 1n };
  const { hold } = await ledger.hold(
    {
      holdId: id,
      accountId,
      keyId,
      keyLimit,
      amountNanoUsd: 1_000_000n,
      minAmountNanoUsd: 1_000_000n,
      ttlMs: 120_000,
      budgets: [],
      timeZone: '',
    },
    context(),
  );
  const report = RecordUsageRequest.fromPartial({
    call: {
      id,
      accountId,
      projectId: accountId.replace(/^acct/, 'proj'),
      keyId,
      modelId: 'bench/model',
      upstreamId: 'bench',
      upstreamModel: 'model',
      format: 1,
      price,
      heldNanoUsd: hold!.amountNanoUsd,
      outputCapTokens: 400,
      startedAtMs: BigInt(systemClock.nowMs()),
    },
    tokens: { inputTokens: 100, outputTokens: 50 },
    source: UsageSource.USAGE_SOURCE_REPORTED,
    outcome: Outcome.OUTCOME_COMPLETED,
    durationMs: 10,
  });
  await metering.recordUsage(report, context());
}

interface Run {
  readonly callsPerSecond: number;
  readonly cpuUs: number;
  readonly p50: number;
  readonly p99: number;
}

async function run(callers: number): Promise<Run> {
  const latencies: number[] = [];
  const startedAtMs = performance.now();
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < startedAtMs + seconds * 1000) {
        const fromMs = performance.now();
        await oneCall();
        latencies.push(performance.now() - fromMs);
      }
    }),
  );
  // Waits for the settlements, which are part of the calls.
  while ((await metering.getOutbox({}, context())).pending > 0n) await new Promise((resolve) => setTimeout(resolve, 5));
  const { user, system } = process.cpuUsage(before);
  latencies.sort((a, b) => a - b);
  return {
    callsPerSecond: (latencies.length * 1000) / (performance.now() - startedAtMs),
    cpuUs: (user + system) / latencies.length,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
  };
}

printCircumstances();
await run(32);
const rows: (string | number)[][] = [];
for (const callers of options.callers.split(',').map(Number)) {
  const runs: Run[] = [];
  for (let round = 0; round < rounds; round += 1) runs.push(await run(callers));
  runs.sort((a, b) => a.cpuUs - b.cpuUs);
  const { callsPerSecond, cpuUs, p50, p99 } = runs[Math.floor(runs.length / 2)]!;
  rows.push([callers, Math.round(callsPerSecond), cpuUs.toFixed(0), p50.toFixed(1), p99.toFixed(1)]);
}
printTable(['callers', 'calls/s', 'CPU per call, µs', 'p50 ms', 'p99 ms'], rows);
await meteringModule.stop();
await ledgerModule.stop();
await books.close();
rmSync(folder, { recursive: true });
process.exit(0);
