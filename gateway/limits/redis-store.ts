// Counts calls of several gateways against their limits in Redis or Valkey. While it is unavailable, each gateway admits its share of every limit by
// itself, or refuses calls that have limits, as configured.
import { createHash, randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import { AppError } from '#client/errors/app-error.js';
import type { Clock } from '#kit/clock.js';
import { countCommand } from '#kit/db/db-metrics.js';
import { endStatement, traceCommand } from '#kit/db/sql-spans.js';
import type { Logger } from '#kit/log.js';
import { Outage } from '../call/outage.js';
import type { LimitStore } from './limiter.js';
import type { Checked, Demand, Figures, Refusal, Subject } from './limits.js';
import { aliveScript, endScript, gatewaysKey, keyPrefix, takeScript } from './redis-scripts.js';

/** After this long without an answer a call is decided without Redis. */
const answerTimeoutMs = 250;
const connectTimeoutMs = 1000;
const reconnectMsMax = 1000;
const aliveIntervalMs = 2000;
/** A gateway that was lost holds its calls in flight for this long. */
const aliveMs = 10_000;
const retryAfterMs = 1000;

/** Options of `redisLimitStore`. */
export interface RedisOptions {
  /** redis://… or rediss://…, which may contain a user and a password. */
  readonly url: string;
  readonly whenAway: 'local' | 'refuse';
  /** Counts this gateway's share while Redis is unavailable. */
  readonly local: LimitStore;
  readonly clock: Clock;
  readonly log: Logger;
}

interface Script {
  /** What it does, in spans. */
  readonly name: string;
  readonly text: string;
  readonly sha: string;
}

const script = (name: string, text: string): Script => ({ name, text, sha: createHash('sha1').update(text).digest('hex') });
const [take, end, alive] = [script('take', takeScript), script('end', endScript), script('alive', aliveScript)];
const limitNames = ['requests', 'tokens', 'concurrent'] as const;

/** Creates the store, which connects when it is started. */
export function redisLimitStore({ url, whenAway, local, clock, log }: RedisOptions): LimitStore {
  const id = randomUUID();
  const meaning = whenAway === 'local' ? 'each gateway admits its share of every limit' : 'calls with limits are refused';
  const outage = new Outage('Redis', meaning, clock, log);
  /** This gateway's calls in flight that are counted in Redis, by key; 0 where Redis may count calls that have ended or were not admitted. */
  const inFlight = new Map<string, number>();
  let gateways = 1;
  let beating: NodeJS.Timeout | undefined;
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: connectTimeoutMs, reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, reconnectMsMax) },
  });
  client.on('error', (error: unknown) => outage.began(error));
  client.on('ready', () => {
    outage.ended();
    restoreInFlight();
    void beat();
  });

  const { hostname, port } = new URL(url);
  const server = { 'server.address': hostname, 'server.port': Number(port === '' ? 6379 : port) };

  /** Runs a script, with a metric and, in a recorded trace, a span. */
  async function run(called: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const span = traceCommand('EVALSHA', called.name, server);
    const beganAtMs = performance.now();
    try {
      const answer = await evaluate(called, keys, args);
      countCommand('EVALSHA', beganAtMs);
      if (span !== undefined) endStatement(span);
      return answer;
    } catch (error) {
      countCommand('EVALSHA', beganAtMs, error);
      if (span !== undefined) endStatement(span, error);
      throw error;
    }
  }

  async function evaluate({ text, sha }: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    try {
      return await client.sendCommand(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return client.sendCommand(['EVAL', text, ...rest]);
    }
  }

  async function beat(): Promise<void> {
    if (!client.isReady) return;
    await run(alive, [gatewaysKey], [id, aliveMs]).then(
      (count) => (gateways = Math.max(1, Number(count))),
      (error: unknown) => log.debug({ err: error }, 'the gateway could not announce itself in Redis'),
    );
  }

  /** Corrects the calls in flight in Redis: what was sent when the connection broke may or may not have been executed. */
  function restoreInFlight(): void {
    for (const [key, calls] of inFlight) {
      // A plain command: a script that Redis does not know would be executed only after the next calls are counted.
      const restored = client.sendCommand(calls === 0 ? ['HDEL', key, id] : ['HSET', key, id, String(calls)]);
      restored.then(
        () => forgetEnded([key]),
        (error: unknown) => outage.began(error),
      );
    }
  }

  function countInFlight(keys: readonly string[], by: number): void {
    for (const key of keys) inFlight.set(key, (inFlight.get(key) ?? 0) + by);
  }

  function forgetEnded(keys: readonly string[]): void {
    for (const key of keys) if (inFlight.get(key) === 0) inFlight.delete(key);
  }

  async function takeShared(subjects: readonly Subject[], demand: Demand): Promise<Checked> {
    const keys = keysOf(subjects);
    const limits = subjects.flatMap(({ requests = 0, tokens = 0, concurrent = 0 }) => [requests, tokens, concurrent]);
    const concurrent = subjects.filter((subject) => subject.concurrent !== undefined).map(callsKeyOf);
    const taking = run(take, keys, [id, demand.tokens, ...limits]).catch((error: unknown) => {
      countInFlight(concurrent, 0);
      throw error;
    });
    const answer = ((await taking) as (string | number)[]).map(Number);
    const [refused, limit, waitMs, bucket] = answer as [number, number, number, number];
    const figures = subjects.map((subject, index) => figuresOf(subject, answer.slice(4 + 5 * index, 9 + 5 * index)));
    if (refused > 0) return { figures, refusal: refusalOf(figures[refused - 1]!, limitNames[limit - 1]!, demand, waitMs) };
    countInFlight(concurrent, 1);
    return {
      figures,
      end(usedTokens) {
        countInFlight(concurrent, -1);
        const counted = subjects.map((subject) => (subject.concurrent === undefined ? 0 : 1));
        run(end, keys, [id, demand.tokens, bucket, usedTokens, ...counted]).then(
          () => forgetEnded(concurrent),
          (error: unknown) => outage.began(error),
        );
      },
    };
  }

  function takeAlone(subjects: readonly Subject[], demand: Demand, nowMs: number): Checked | Promise<Checked> {
    outage.count();
    if (whenAway === 'local')
      return local.take(
        subjects.map((subject) => shareOf(subject, gateways)),
        demand,
        nowMs,
      );
    throw new AppError('service_unavailable', 'The rate limits cannot be checked at the moment. Nothing was charged. Try again.', {
      retryAfterMs,
    });
  }

  return {
    take(subjects, demand, nowMs) {
      if (!client.isReady) return takeAlone(subjects, demand, nowMs);
      const shared = takeShared(subjects, demand);
      return inTime(shared).catch((error: unknown) => {
        outage.began(error);
        // If the call was counted after all, its place among the calls in flight is freed.
        shared.then(
          (late) => (late.refusal === undefined ? late.end(0, nowMs) : undefined),
          () => undefined,
        );
        return takeAlone(subjects, demand, nowMs);
      });
    },
    async start() {
      // The gateway does not wait for Redis: it can do without.
      client.connect().catch((error: unknown) => outage.began(error));
      beating = setInterval(() => void beat(), aliveIntervalMs);
      beating.unref();
    },
    async stop() {
      clearInterval(beating);
      if (client.isReady) await inTime(client.sendCommand(['ZREM', gatewaysKey, id])).catch(() => undefined);
      client.destroy();
    },
  };
}

const keysOf = (subjects: readonly Subject[]): string[] => [
  gatewaysKey,
  ...subjects.flatMap((subject) => [`${keyPrefix}${subject.scope} ${subject.id}`, callsKeyOf(subject)]),
];

const callsKeyOf = ({ scope, id }: Subject): string => `${keyPrefix}${scope} ${id} calls`;

function figuresOf(subject: Subject, numbers: readonly number[]): Figures {
  const [requests, tokens, inFlight, requestsResetMs, tokensResetMs] = numbers as [number, number, number, number, number];
  return { subject, requests, tokens, inFlight, requestsResetMs, tokensResetMs };
}

function refusalOf(figures: Figures, limit: Refusal['limit'], demand: Demand, waitMs: number): Refusal {
  const used = { requests: figures.requests, tokens: figures.tokens, concurrent: figures.inFlight }[limit];
  const needed = limit === 'tokens' ? demand.tokens : 1;
  return { figures, limit, max: figures.subject[limit]!, used, needed, retryAfterMs: waitMs < 0 ? undefined : waitMs };
}

/** Returns a subject with this gateway's share of its limits, at least 1. */
function shareOf(subject: Subject, gateways: number): Subject {
  const share = (limit: number | undefined): number | undefined =>
    limit === undefined ? undefined : Math.max(1, Math.floor(limit / gateways));
  return { ...subject, requests: share(subject.requests), tokens: share(subject.tokens), concurrent: share(subject.concurrent) };
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Redis did not answer within ${answerTimeoutMs} ms.`)), answerTimeoutMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
