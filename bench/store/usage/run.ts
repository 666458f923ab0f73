// Measures pages and sums of usage records, with as many records as several months create, on SQLite and on MariaDB. See README.md.
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { migrate } from '#kit/db/migrations/migrate.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { migrations } from '#services/metering/migrations/index.js';
import { backfill, clearRollups, Phase, readRollupState, rebuildRollups } from '#services/metering/store/sums/rollup-steps.js';
import { SeriesNumbers } from '#services/metering/store/sums/rollups.js';
import { type Engine, measuredPids, type NewDatabase, newDatabase } from '../database.ts';
import { cpuOf } from '../../measure.ts';
import { print, printCircumstances, printTable } from '../../table.ts';
import { type Case, pageCases, sumCases } from './cases.ts';
import { generate, historyIn, historyOf } from './generate.ts';
import { keysPageOf } from './keys-page.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    records: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '90' },
    tries: { type: 'string', default: '50' },
    // Databases that are filled if empty, and kept.
    keep: { type: 'string', default: '' },
    // A regular expression that selects cases by name.
    only: { type: 'string', default: '' },
  },
});
const tries = Number(options.tries);
const only = new RegExp(options.only);
/** Records per transaction while everything is rolled up. */
const recordsPerStep = 5000;

/** Returns the 50th and 95th percentile and the mean CPU time in milliseconds. A first try is not counted. */
async function timesOf({ ask }: Case): Promise<{ p50: number; p95: number; cpu: number }> {
  await ask();
  const times: number[] = [];
  const cpuBefore = cpuOf(measuredPids);
  for (let attempt = 0; attempt < tries; attempt += 1) {
    const start = performance.now();
    await ask();
    times.push(performance.now() - start);
  }
  const cpu = (cpuOf(measuredPids) - cpuBefore) / 1000 / tries;
  times.sort((a, b) => a - b);
  return { p50: times[Math.floor(tries * 0.5)]!, p95: times[Math.min(tries - 1, Math.floor(tries * 0.95))]!, cpu };
}

const seconds = (lengthMs: number): string => (lengthMs / 1000).toFixed(0);
const ms = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

async function measure({ url, drop }: NewDatabase): Promise<void> {
  const db = openDatabase(url);
  try {
    await migrate(db, migrations);
    if ((await db.knex('usage_record').select('id').limit(1)).length === 0) await fill(db);
    await addUp(db);
    if (db.engine === 'sqlite') await db.knex.raw('PRAGMA synchronous = FULL');
    print(
      `\n${db.engine}, ${await rowsOf(db, 'usage_record')} records, ${await rowsOf(db, 'usage_sum')} rows of sums, load average ${loadavg()[0]!.toFixed(1)}\n`,
    );
    const history = await historyIn(db);
    const keys = await keysPageOf(db, history.accounts[0]!.id, history.accounts[0]!.keys);
    const cases = [
      ...pageCases(db, history),
      ...[50, 200].map((size) => ({ name: `keys with spend and last use: ${size} per page`, ask: () => keys.ask(size) })),
      ...sumCases(db, history),
    ];
    const rows: string[][] = [];
    for (const each of cases.filter(({ name }) => only.test(name))) {
      const { p50, p95, cpu } = await timesOf(each);
      rows.push([each.name, ms(p50), ms(p95), ms(cpu)]);
    }
    printTable(['request', 'p50 ms', 'p95 ms', 'CPU ms'], rows);
    await keys.close();
  } finally {
    await db.close();
    await drop();
  }
}

async function rowsOf(db: Database, table: string): Promise<number> {
  const [row] = (await db.knex(table).count({ rows: '*' })) as { rows: unknown }[];
  return Number(row!.rows);
}

/** Fills the database without durability, because data lost in a power cut can be generated again. */
async function fill(db: Database): Promise<void> {
  if (db.engine === 'sqlite') await db.knex.raw('PRAGMA synchronous = OFF');
  const start = performance.now();
  await generate(db, historyOf(Number(options.days), Date.now()), Number(options.records));
  await rebuildRollups(db);
  print(`\nGenerated in ${seconds(performance.now() - start)} s.`);
}

/** Sums all records as metering does after a drift, but many records at once and without pauses. */
async function addUp(db: Database): Promise<void> {
  if ((await readRollupState(db)).phase === Phase.complete) return;
  const start = performance.now();
  const cpuBefore = cpuOf(measuredPids);
  const numbers = new SeriesNumbers();
  while ((await clearRollups(db)).next !== undefined);
  let [records, next]: [number, Buffer | undefined] = [0, Buffer.alloc(0)];
  while (next !== undefined) {
    const step = await backfill(db, numbers, recordsPerStep);
    records += step.added;
    next = step.next;
  }
  const cpu = (cpuOf(measuredPids) - cpuBefore) / records;
  print(`\nRolled up in ${seconds(performance.now() - start)} s, ${cpu.toFixed(0)} µs of CPU per record.`);
  if (db.engine === 'mysql') await db.knex.raw('ANALYZE TABLE usage_record, usage_sum, usage_series');
}

const kept = options.keep.split(' ').filter((url) => url !== '');
printCircumstances(`, ${tries} tries each`);
if (kept.length > 0) for (const url of kept) await measure({ url, drop: async () => undefined });
else for (const engine of options.engines.split(',') as Engine[]) await measure(await newDatabase(engine));
