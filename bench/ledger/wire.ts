// Hold + settle cycles through the real gRPC service: one call per operation, the stream of Apply, and the store inside the same process, in the
// same run. See README.md.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus, loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createLogger } from '#kit/log.js';
import { batchClient } from '#client/batch/batch-client.js';
import { callContext } from '#client/call-context.js';
import { dialGrpc } from '#client/grpc/grpc-client.js';
import { type LedgerService, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import type { Customer, Engine } from './books.ts';
import { callersOf, type Doer, type Measured, runCycles } from './cycles.ts';
import type { Question } from './wire-server.ts';

const { values: options } = parseArgs({
  options: {
    engines: { type: 'string', default: 'sqlite,mysql' },
    accounts: { type: 'string', default: '1,10000' },
    callers: { type: 'string', default: '1,64,512' },
    seconds: { type: 'string', default: '2' },
    rounds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '2' },
  },
});
const numbers = (text: string): number[] => text.split(',').map(Number);
const seconds = Number(options.seconds);
const rounds = Number(options.rounds);

/** A run, and the CPU that a cycle cost the ledger's process. */
interface Run extends Measured {
  readonly serverUsPerCycle: number;
}

interface Line {
  readonly engine: Engine;
  readonly accounts: number;
  readonly callers: number;
  readonly store: Run;
  readonly unary: Run;
  readonly stream: Run;
}

async function ask<T>(server: ChildProcess, question?: Question): Promise<T> {
  if (question !== undefined) server.send(question);
  const [{ result }] = (await once(server, 'message')) as [{ result: T }];
  return result;
}

const context = () => callContext({ caller: 'operator', timeoutMs: 30_000 });

/** Executes operations through a client of the service. */
function doerOf(client: Pick<LedgerService, 'hold' | 'settle'>): Doer {
  return async (operation) => {
    if (operation.kind === 'hold') {
      const { holdId, accountId, keyId, amountNanoUsd, minAmountNanoUsd, ttlMs, limitVersion: version } = operation;
      await client.hold(
        { holdId, accountId, keyId, amountNanoUsd, minAmountNanoUsd, ttlMs, keyLimit: { limitNanoUsd: undefined, version } },
        context(),
      );
    } else if (operation.kind === 'settle') {
      const { holdId, accountId, keyId = '', costNanoUsd } = operation;
      await client.settle({ holdId, accountId, keyId, costNanoUsd }, context());
    }
    return {};
  };
}

async function measure(engine: Engine, accounts: number): Promise<Line[]> {
  const server = fork(fileURLToPath(new URL('wire-server.ts', import.meta.url)), [engine, String(accounts), options.lanes]);
  process.once('exit', () => server.kill('SIGKILL'));
  server.once('exit', (code) => {
    if (code !== 0) throw new Error(`The ledger's process exited with ${code}.`);
  });
  const { address, customers } = await ask<{ address: string; customers: Customer[] }>(server);
  const connection = dialGrpc(address, { caller: 'operator' });
  const client = connection.client(LedgerServiceDefinition);
  const batched = batchClient(LedgerServiceDefinition, client, {
    method: 'batch',
    operations: ['hold', 'settle'],
    caller: 'operator',
    log: createLogger({ name: 'bench', level: 'warn' }),
  });
  const [unary, stream] = [doerOf(client), doerOf(batched.client)];

  const run = async (doer: Doer | 'store', callers: number): Promise<Run> => {
    const before = await ask<NodeJS.CpuUsage>(server, { ask: 'cpu' });
    const measured =
      doer === 'store'
        ? await ask<Measured>(server, { ask: 'store', callers, seconds })
        : await runCycles(callersOf(customers, callers), doer, seconds);
    const after = await ask<NodeJS.CpuUsage>(server, { ask: 'cpu' });
    const usedUs = after.user + after.system - before.user - before.system;
    return { ...measured, serverUsPerCycle: usedUs / (measured.cyclesPerSecond * seconds) };
  };
  const lines: Line[] = [];
  for (const doer of ['store', unary, stream] as const) await run(doer, 64);
  for (const callers of numbers(options.callers)) {
    const runs: [Run[], Run[], Run[]] = [[], [], []];
    // In turn, so that other load on the machine affects all variants equally.
    for (let round = 0; round < rounds; round += 1) {
      for (const [index, doer] of (['store', unary, stream] as const).entries()) runs[index]!.push(await run(doer, callers));
    }
    const [store, one, many] = runs.map(median) as [Run, Run, Run];
    lines.push({ engine, accounts, callers, store, unary: one, stream: many });
  }
  batched.close();
  connection.close();
  await ask(server, { ask: 'end' });
  return lines;
}

/** Returns the median run by cycles per second. */
function median(runs: Run[]): Run {
  return runs.sort((a, b) => a.cyclesPerSecond - b.cyclesPerSecond)[Math.floor(runs.length / 2)]!;
}

function report(lines: readonly Line[]): void {
  const ms = (value: number): string => value.toFixed(value < 10 ? 2 : 0);
  const show = ({ cyclesPerSecond, hold, settle }: Run): (string | number)[] => [
    Math.round(cyclesPerSecond),
    `${ms(hold.p50)} / ${ms(hold.p99)}`,
    `${ms(settle.p50)} / ${ms(settle.p99)}`,
  ];
  const latency = ['hold p50 / p99 ms', 'settle p50 / p99 ms'];
  const head = [
    'database',
    'accounts',
    'callers',
    'store, cycles/s',
    'unary, cycles/s',
    ...latency,
    'stream, cycles/s',
    ...latency,
    'stream × unary',
    'stream ÷ store',
    'ledger CPU µs per cycle: store, unary, stream',
  ];
  const rows = lines.map(({ engine, accounts, callers, store, unary, stream }) => [
    engine,
    accounts,
    callers,
    Math.round(store.cyclesPerSecond),
    ...show(unary),
    ...show(stream),
    (stream.cyclesPerSecond / unary.cyclesPerSecond).toFixed(1),
    (stream.cyclesPerSecond / store.cyclesPerSecond).toFixed(2),
    [store, unary, stream].map(({ serverUsPerCycle }) => serverUsPerCycle.toFixed(0)).join(', '),
  ]);
  const table = [head, head.map((_, index) => (index === 0 ? '---' : '---:')), ...rows];
  process.stdout.write(`${table.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`);
}

process.stdout.write(
  `${new Date().toISOString()}, Node ${process.version}, ${cpus().length} cores, load average ${loadavg()[0]!.toFixed(1)} before the run\n\n`,
);
const lines: Line[] = [];
for (const engine of options.engines.split(',') as Engine[]) {
  for (const accounts of numbers(options.accounts)) lines.push(...(await measure(engine, accounts)));
}
report(lines);
process.exit(0);
