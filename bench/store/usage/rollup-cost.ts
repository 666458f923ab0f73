// The cost of the roll-up per record while calls come in: this many accounts take turns, and the roll-up worker runs periodically. See README.md.
import { parseArgs } from 'node:util';
import { migrate } from '#kit/db/migrations/migrate.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { insertText } from '#kit/db/plain/sql-text.js';
import { migrations } from '#services/metering/migrations/index.js';
import { rollUpPending, markPending, pendingAfter } from '#services/metering/store/sums/rollup-steps.js';
import { allRecordColumns } from '#services/metering/store/records/record-rows.js';
import { SeriesNumbers } from '#services/metering/store/sums/rollups.js';
import { type Engine, measuredPids, newDatabase } from '../database.ts';
import { cpuOf } from '../../measure.ts';
import { printTable } from '../../table.ts';
import { historyOf, rowsOfCalls } from './generate.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite' },
    accounts: { type: 'string', default: '1,100' },
    // Per account.
    keys: { type: 'string', default: '3' },
    models: { type: 'string', default: '5' },
    // Calls per second.
    rate: { type: 'string', default: '400' },
    seconds: { type: 'string', default: '100' },
    // Seconds between two runs of the roll-up worker.
    every: { type: 'string', default: '5' },
    step: { type: 'string', default: '400' },
  },
});
const [rate, seconds, every, step] = [Number(options.rate), Number(options.seconds), Number(options.every), Number(options.step)];

async function measure(db: Database, accounts: number): Promise<{ cpu: number; stepMs: number }> {
  await migrate(db, migrations);
  const numbers = new SeriesNumbers();
  const insert = insertText('usage_record', allRecordColumns);
  const history = historyOf(90, Date.now(), accounts);
  const few = {
    ...history,
    accounts: history.accounts.map(({ id, keys }) => ({ id, keys: keys.slice(0, Number(options.keys)) })),
    models: history.models.slice(0, Number(options.models)),
  };
  const calls = rowsOfCalls(few, Date.now() - seconds * 1000, 1000 / rate);
  let [cpu, records, slowest] = [0, 0, 0];
  for (let second = 1; second <= seconds; second += 1) {
    await db.plainTransaction(async (tx) => {
      const made = Array.from({ length: rate }, calls);
      for (let start = 0; start < made.length; start += 50) await tx.run(insert(50), made.slice(start, start + 50).flat());
      for (let start = 0; start < made.length; start += 100)
        await markPending(
          tx,
          made.slice(start, start + 100).map((row) => [row[0] as Buffer, row[1] as Buffer]),
        );
    });
    if (second % every !== 0) continue;
    const before = cpuOf(measuredPids);
    let page: Awaited<ReturnType<typeof pendingAfter>> = { ids: [], next: Buffer.alloc(16) };
    while (page.next !== undefined) {
      page = await pendingAfter(db, page.next, 4000);
      while (page.ids.length > 0) {
        const start = performance.now();
        const added = await rollUpPending(db, numbers, page.ids.splice(0, step));
        // The first calls of a key and a model create series, once.
        if (second > seconds / 2) {
          slowest = Math.max(slowest, performance.now() - start);
          records += added;
        }
      }
    }
    if (second > seconds / 2) cpu += cpuOf(measuredPids) - before;
  }
  return { cpu: cpu / records, stepMs: slowest };
}

const rows: (string | number)[][] = [];
for (const engine of options.engines.split(',') as Engine[]) {
  for (const accounts of options.accounts.split(',').map(Number)) {
    const { url, drop } = await newDatabase(engine);
    const db = openDatabase(url);
    const { cpu, stepMs } = await measure(db, accounts).finally(() => db.close());
    await drop();
    rows.push([engine, accounts, cpu.toFixed(0), stepMs.toFixed(0)]);
  }
}
printTable(['database', 'accounts', 'CPU µs per record', 'longest step, ms'], rows);
