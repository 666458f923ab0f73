// The four paths between formats: CPU per relayed stream event, and the time added until the first token, compared with relays that parse
// and write the same stream. See README.md.
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type LoadResult, percentile, runLoad } from './load.ts';
import { atMessages, type Contender, cpuMicroseconds, startRelay, startTollgate, startUpstream, stopAll } from './processes.ts';

const { values: options } = parseArgs({ options: { rounds: { type: 'string', default: '5' }, seconds: { type: 'string', default: '2' } } });
const rounds = Number(options.rounds);
const durationMs = Number(options.seconds) * 1000;
const streamTokens = 1920;

interface Line {
  readonly name: string;
  /** The format of the upstream; the line is compared with a direct call and the relays of that format. */
  readonly upstream: 'chat-completions' | 'messages';
  readonly role: 'direct' | 'bytes' | 'json' | 'tollgate';
  readonly contender: Contender;
  readonly model: string;
}

interface Run {
  readonly cpuPerEventUs: number;
  readonly firstTokensMs: readonly number[];
}

const bodyOf = (model: string, tokens: number): string =>
  JSON.stringify({ model, stream: true, max_tokens: 4000, messages: [{ role: 'user', content: `Tell a story, tokens=${tokens}` }] });

async function lines(): Promise<Line[]> {
  const chat = await startUpstream();
  const vendors = {
    'chat-completions': { contender: chat, model: 'openai/gpt-4.1-mini' },
    messages: { contender: atMessages(chat), model: 'anthropic/claude-haiku-4-5' },
  };
  const tollgate = await startTollgate('single', chat);
  const all: Line[] = [];
  for (const upstream of ['chat-completions', 'messages'] as const) {
    const { contender: vendor, model } = vendors[upstream];
    all.push(
      { name: 'no relay', upstream, role: 'direct', contender: vendor, model },
      { name: 'bytes relay', upstream, role: 'bytes', contender: await startRelay('sse-bytes', vendor), model },
      { name: 'JSON relay', upstream, role: 'json', contender: await startRelay('sse-json', vendor), model },
      { name: 'Tollgate, chat-completions caller', upstream, role: 'tollgate', contender: tollgate, model },
      { name: 'Tollgate, messages caller', upstream, role: 'tollgate', contender: atMessages(tollgate), model },
    );
  }
  return all;
}

async function load({ contender, model }: Line, tokens: number, callers: number, forMs: number): Promise<LoadResult & { cpuUs: number }> {
  const { url, headers, pids } = contender;
  const before = cpuMicroseconds(pids);
  const result = await runLoad({ url, headers, body: bodyOf(model, tokens), callers, durationMs: forMs, callsMax: 100_000 });
  return { ...result, cpuUs: cpuMicroseconds(pids) - before };
}

/** Measures a line. Subtracts the cost of a stream with hardly any events, so that only the cost of events remains. */
async function measure(line: Line): Promise<Run> {
  const [short, long] = [await load(line, 16, 16, durationMs / 2), await load(line, streamTokens, 16, durationMs)];
  const perCall = (run: LoadResult & { cpuUs: number }): number => run.cpuUs / run.calls;
  const first = await load(line, 16, 1, durationMs / 2);
  return { cpuPerEventUs: (perCall(long) - perCall(short)) / (streamTokens - 16), firstTokensMs: first.firstTokensMs };
}

const median = (values: readonly number[]): number =>
  percentile(
    [...values].sort((a, b) => a - b),
    0.5,
  );

function report(all: readonly Line[], results: ReadonlyMap<Line, readonly Run[]>): void {
  process.stdout.write(
    '| upstream | | CPU per event, µs | least–most | × JSON relay | first token p50 ms | added p50 | added p90 |\n| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n',
  );
  for (const line of all) {
    const runsOf = (role: Line['role']): readonly Run[] =>
      results.get(all.find((other) => other.upstream === line.upstream && other.role === role)!)!;
    const costs = (runs: readonly Run[]): number[] => runs.map(({ cpuPerEventUs }) => cpuPerEventUs);
    const firsts = (runs: readonly Run[], share: number): number =>
      median(runs.map(({ firstTokensMs }) => percentile(firstTokensMs, share)));
    const runs = results.get(line)!;
    const direct = runsOf('direct');
    const cost = costs(runs);
    const cpu =
      line.role === 'direct'
        ? ['', '', '']
        : [
            median(cost).toFixed(1),
            `${Math.min(...cost).toFixed(1)}–${Math.max(...cost).toFixed(1)}`,
            (median(cost) / median(costs(runsOf('json')))).toFixed(2),
          ];
    const first = [firsts(runs, 0.5).toFixed(2), ...[0.5, 0.9].map((share) => (firsts(runs, share) - firsts(direct, share)).toFixed(2))];
    process.stdout.write(`| ${[line.upstream, line.name, ...cpu, ...first].join(' | ')} |\n`);
  }
}

try {
  process.stdout.write(
    `${new Date().toISOString()}, Node ${process.version}, ${cpus().length} cores, load average ${loadavg()[0]!.toFixed(1)} before the run\n\n`,
  );
  const all = await lines();
  const results = new Map(all.map((line) => [line, [] as Run[]]));
  // Warms up each line before it is measured.
  for (const line of all) await load(line, streamTokens, 16, 2000);
  for (let round = 0; round < rounds; round += 1) for (const line of all) results.get(line)!.push(await measure(line));
  report(all, results);
} finally {
  await stopAll();
}
