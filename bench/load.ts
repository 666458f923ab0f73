// A load generator: callers over keep-alive connections to one loopback address, bounded in time and in calls.
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool } from 'undici';

/** The requests and the load. */
export interface Load {
  /** For example http://127.0.0.1:<port>/<path>. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Maximum number of calls in flight; each has its own connection. */
  readonly callers: number;
  /** No call begins after this long. */
  readonly durationMs: number;
  readonly callsMax?: number;
  /** Open loop: calls begin at even intervals at this rate. If absent, each caller begins its next call immediately. */
  readonly callsPerSecond?: number;
}

/** The result. */
export interface LoadResult {
  readonly calls: number;
  /** Number of server-sent events of all calls; 0 if the answers were not streamed. */
  readonly events: number;
  readonly seconds: number;
  /** Times from the instant a call was due to the last byte of its answer, in ascending order. */
  readonly latenciesMs: readonly number[];
  /** Times to the first piece of the model's text in a stream; empty if the answers were not streamed. */
  readonly firstTokensMs: readonly number[];
}

/** Runs a load to its end. Throws at the first response that is not a complete 200, because figures of failed calls are meaningless. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const url = new URL(load.url);
  if (url.hostname !== '127.0.0.1') throw new Error('Load is for loopback addresses only.');
  const pool = new Pool(url.origin, { connections: load.callers, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 });
  const callsMax = load.callsMax ?? Number.POSITIVE_INFINITY;
  const latenciesMs: number[] = [];
  const firstTokensMs: number[] = [];
  let events = 0;
  let begun = 0;
  const startedMs = performance.now();
  /** Returns when the next call is due, or undefined if there is none. */
  const nextDue = (): number | undefined => {
    const dueMs = load.callsPerSecond === undefined ? performance.now() : startedMs + (begun * 1000) / load.callsPerSecond;
    if (begun >= callsMax || dueMs - startedMs >= load.durationMs) return undefined;
    begun += 1;
    return dueMs;
  };
  const caller = async (): Promise<void> => {
    for (let due = nextDue(); due !== undefined; due = nextDue()) {
      const earlyMs = due - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      // A call without a free caller has waited since it was due; a timer that fires late does not delay a call.
      const fromMs = earlyMs > 0 ? performance.now() : due;
      const answered = await call(pool, url.pathname, load);
      events += answered.events;
      if (answered.firstTokenAtMs !== undefined) firstTokensMs.push(answered.firstTokenAtMs - fromMs);
      latenciesMs.push(performance.now() - fromMs);
    }
  };
  try {
    await Promise.all(Array.from({ length: load.callers }, caller));
  } finally {
    await pool.destroy();
  }
  return {
    calls: latenciesMs.length,
    events,
    seconds: (performance.now() - startedMs) / 1000,
    latenciesMs: latenciesMs.sort((a, b) => a - b),
    firstTokensMs: firstTokensMs.sort((a, b) => a - b),
  };
}

/** Returns the value below which this share of the sorted values lies. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Measurements of one answer. */
interface Answered {
  readonly events: number;
  readonly firstTokenAtMs: number | undefined;
}

const isEnd = (frame: string): boolean => frame === 'data: [DONE]' || /^event: (message_stop|response\.completed)\n/.test(frame);

/** Makes one call and reads its answer. */
async function call(pool: Pool, path: string, { headers, body }: Load): Promise<Answered> {
  const answer = await pool.request({ method: 'POST', path, headers: { 'content-type': 'application/json', ...headers }, body });
  const isStream = answer.headers['content-type']?.includes('text/event-stream') === true;
  let events = 0;
  let tail = '';
  let isComplete = !isStream;
  let bytes = 0;
  let firstTokenAtMs: number | undefined;
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (!isStream) continue;
    // Some servers end lines with CR LF.
    const text = tail + chunk.toString('latin1').replaceAll('\r', '');
    if (firstTokenAtMs === undefined && text.includes(' token')) firstTokenAtMs = performance.now();
    const frames = text.split('\n\n');
    tail = frames.pop()!;
    events += frames.length;
    isComplete ||= frames.some(isEnd);
  }
  if (answer.statusCode !== 200 || bytes === 0)
    throw new Error(`A call to ${path} was answered with ${answer.statusCode} and ${bytes} bytes.`);
  if (!isComplete) throw new Error(`A stream of ${path} broke off after ${events} events.`);
  return { events, firstTokenAtMs };
}
