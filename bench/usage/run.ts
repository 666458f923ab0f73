// Pages of usage records and sums over them, with as many records as months leave, on SQLite and on MariaDB. See README.md.
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { systemClock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrate.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import { callContext } from '#kit/rpc/call-context.js';
import { Ending, GroupBy, UsageFilter } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '#services/metering/deps.js';
import { Folder } from '#services/metering/folder.js';
import { migrations } from '#services/metering/migrations/index.js';
import { encodePageToken } from '#services/metering/page-token.js';
import { getUsageTotals } from '#services/metering/rpcs/get-usage-totals.js';
import { listKeyActivity } from '#services/metering/rpcs/list-key-activity.js';
import { listUsageRecords } from '#services/metering/rpcs/list-usage-records.js';
import { type Engine, type NewDatabase, newDatabase } from '../database.ts';
import { cpuMicroseconds } from '../processes.ts';
import { generate, type History, historyIn, historyOf } from './generate.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    records: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '90' },
    tries: { type: 'string', default: '50' },
    // Databases that are filled when they are empty, and kept.
    keep: { type: 'string', default: '' },
  },
});
const tries = Number(options.tries);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** With the ten keys of an account as many as a page of keys may have. */
const unusedKeys = Array.from({ length: 190 }, () => newId('key'));

interface Case {
  readonly name: string;
  readonly ask: () => Promise<unknown>;
}

function casesOf(db: Database, { accounts, models, fromMs, untilMs }: History): Case[] {
  const context = callContext({ caller: 'bench' });
  const deps = { db } as RpcDeps;
  const { id: accountId, keys } = accounts[0]!;
  const page = (filter: Partial<UsageFilter>, pageToken = '') => () =>
    listUsageRecords({ filter: UsageFilter.fromPartial({ accountId, ...filter }), pageSize: 50, pageToken }, context, deps);
  const totals = (lengthMs: number, groupBy: GroupBy, thenBy = GroupBy.GROUP_BY_UNSPECIFIED, filter: Partial<UsageFilter> = {}) => () =>
    getUsageTotals({ filter: UsageFilter.fromPartial({ accountId, fromMs: BigInt(untilMs - lengthMs), ...filter }), groupBy, thenBy, offsetMinutes: 345 }, context, deps);
  const deep = encodePageToken({ startedAtMs: BigInt(fromMs + dayMs), callId: `req_${'0'.repeat(32)}` });
  const cases: Case[] = [
    { name: 'records: first page', ask: page({}) },
    { name: 'records: page near the end', ask: page({}, deep) },
    { name: 'records of a key', ask: page({ keyId: keys[3]! }) },
    { name: 'records of a model', ask: page({ modelId: models[14]! }) },
    { name: 'records of an ending', ask: page({ ending: Ending.ENDING_UPSTREAM_ERROR_AFTER_OUTPUT }) },
    { name: 'last use of 200 keys', ask: () => listKeyActivity({ accountId, keyIds: [...keys, ...unusedKeys] }, context, deps) },
    { name: 'records of a key and a model', ask: page({ keyId: keys[9]!, modelId: models[14]! }) },
  ];
  const lengths: [string, number][] = [['24 h', dayMs], ['30 d', 30 * dayMs], ['90 d', 90 * dayMs]];
  for (const [length, lengthMs] of lengths) {
    cases.push(
      { name: `totals, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_UNSPECIFIED) },
      { name: `totals by day, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_DAY) },
      { name: `totals by hour, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_HOUR) },
      { name: `totals by model, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_MODEL) },
      { name: `totals by key, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_KEY) },
      { name: `totals by day and model, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_DAY, GroupBy.GROUP_BY_MODEL) },
      { name: `totals by key and model, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_KEY, GroupBy.GROUP_BY_MODEL) },
      { name: `totals by day and model of the busiest key, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_DAY, GroupBy.GROUP_BY_MODEL, { keyId: keys[0]! }) },
      { name: `totals by day of the busiest key and model, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_DAY, undefined, { keyId: keys[0]!, modelId: models[0]! }) },
      { name: `totals by day and key of completed calls, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_DAY, GroupBy.GROUP_BY_KEY, { ending: Ending.ENDING_COMPLETED }) },
    );
  }
  // An answer may have 10,000 groups.
  for (const [length, lengthMs] of [['24 h', dayMs], ['7 d', 7 * dayMs], ['27 d', 27 * dayMs]] as const) {
    cases.push({ name: `totals by hour and model, ${length}`, ask: totals(lengthMs, GroupBy.GROUP_BY_HOUR, GroupBy.GROUP_BY_MODEL) });
  }
  return cases;
}

/** This process, and with TOLLGATE_BENCH_MYSQL_PID the server. */
const pids = [process.pid, ...(process.env['TOLLGATE_BENCH_MYSQL_PID'] === undefined ? [] : [Number(process.env['TOLLGATE_BENCH_MYSQL_PID'])])];

/** The 50th and 95th percentile in milliseconds, and the mean of the CPU that it took; one try before is not counted. */
async function timesOf({ ask }: Case): Promise<{ p50: number; p95: number; cpu: number }> {
  await ask();
  const times: number[] = [];
  const cpuBefore = cpuMicroseconds(pids);
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const start = performance.now();
    await ask();
    times.push(performance.now() - start);
  }
  const cpu = (cpuMicroseconds(pids) - cpuBefore) / 1000 / tries;
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(tries * 0.5)]!, p95: times[Math.min(tries - 1, Math.floor(tries * 0.95))]!, cpu };
}

const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function measure({ url, drop }: NewDatabase): Promise<void> {
  const db = openDatabase(url);
  try {
    await migrate(db, migrations);
    if ((await db.knex('usage_record').select('id').limit(1)).length === 0) await fill(db);
    print(`\n${db.engine}, ${await rowsOf(db, 'usage_record')} records, ${await rowsOf(db, 'usage_rollup')} rows of sums, load average ${loadavg()[0]!.toFixed(1)}\n`);
    print('| asked | p50 ms | p95 ms | CPU ms |\n| --- | ---: | ---: | ---: |');
    for (const each of casesOf(db, await historyIn(db))) {
      const { p50, p95, cpu } = await timesOf(each);
      print(`| ${each.name} | ${ms(p50)} | ${ms(p95)} | ${ms(cpu)} |`);
    }
  } finally {
    await db.close();
    await drop();
  }
}

async function rowsOf(db: Database, table: string): Promise<number> {
  const [row] = (await db.knex(table).count({ rows: '*' })) as { rows: unknown }[];
  return Number(row!.rows);
}

async function fill(db: Database): Promise<void> {
  const start = performance.now();
  await generate(db, historyOf(Number(options.days), Date.now()), Number(options.records));
  const folding = performance.now();
  await new Folder({ config: { foldIntervalMs: 1000 }, db, clock: systemClock, log: createLogger({ name: 'bench', level: 'error' }, process.stderr) }).fold();
  const seconds = (ms: number): string => (ms / 1000).toFixed(0);
  print(`\nMade in ${seconds(folding - start)} s and added up in ${seconds(performance.now() - folding)} s, half of it resting.`);
  if (db.engine === 'mysql') await db.knex.raw('ANALYZE TABLE usage_record, usage_rollup, usage_series');
}

const kept = options.keep.split(' ').filter((url) => url !== '');
print(`${new Date().toISOString()}, Node ${process.version}, ${cpus().length} cores, load average ${loadavg()[0]!.toFixed(1)} before the run, ${tries} tries each`);
if (kept.length > 0) for (const url of kept) await measure({ url, drop: async () => undefined });
else for (const engine of options.engines.split(',') as Engine[]) await measure(await newDatabase(engine));
