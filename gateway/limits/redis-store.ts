// Counts calls of several gateways against their limits in Redis or Valkey. While it is unavailable, each gateway admits its share of every limit by
// itself, or refuses calls that have limits, as configured. It is queried again when it is connected and has answered the regular announcement.
import { createHash, randomUUID } from 'node:crypto';
import type { createClient } from '@redis/client';
import { AppError } from '#client/errors/app-error.js';
import type { Clock } from '#kit/clock.js';
import { countCommand } from '#kit/db/statements/db-metrics.js';
import { endStatement, traceCommand } from '#kit/db/statements/sql-spans.js';
import type { Logger } from '#kit/log.js';
import { Outage } from '../call/recording/outage.js';
import type { LimitStore } from './limiter.js';
import type { Checked, Demand, Figures, Refusal, Subject } from './limits.js';
import { takeShare } from './local-share.js';
import { aliveScript, endScript, gatewaysKey, keyPrefix, takeScript } from './redis-scripts.js';

/** After this long without an answer a call is decided without Redis. */
const answerTimeoutMs = 250;
/** After this many timeouts in a row, Redis counts as unavailable, so that further calls do not wait. */
const timeoutsMax = 3;
const connectTimeoutMs = 1000;
const reconnectMsMax = 1000;
const aliveIntervalMs = 2000;
/** A gateway that was lost holds its calls in flight for this long. */
const aliveMs = 10_000;
/** A connection that stays silent for this long is replaced: the kernel would take many minutes to notice that the other end is lost. */
const silenceMs = 10_000;
const retryAfterMs = 1000;

/** Options of `redisLimitStore`. */
export interface RedisOptions {
  /** redis://… or rediss://…, which may contain a user and a password. */
  readonly url: string;
  readonly withoutRedis: 'local' | 'refuse';
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
export function redisLimitStore({ url, withoutRedis, local, clock, log }: RedisOptions): LimitStore {
  const id = randomUUID();
  const meaning = withoutRedis === 'local' ? 'each gateway admits its share of every limit' : 'calls with limits are refused';
  const outage = new Outage('Redis', meaning, clock, log);
  /** This gateway's calls in flight that are counted in Redis, by key; 0 where Redis may count calls that have ended or were not admitted. */
  const inFlight = new Map<string, number>();
  let gateways = 1;
  let timeouts = 0;
  let lastTimeoutAtMs = 0;
  /** Scripts whose answers have not arrived. */
  let unanswered = 0;
  let beating: NodeJS.Timeout | undefined;
  let client: ReturnType<typeof createClient> | undefined;
  let isStopped = false;

  const { hostname, port } = new URL(url);
  const server = { 'server.address': hostname, 'server.port': Number(port === '' ? 6379 : port) };

  async function connect(): Promise<void> {
    // Loaded only by gateways that use Redis.
    const redis = await import('@redis/client');
    if (isStopped) return;
    client = redis.createClient({
      url,
      disableOfflineQueue: true,
      socket: {
        connectTimeout: connectTimeoutMs,
        socketTimeout: silenceMs,
        reconnectStrategy: (retries: number) => Math.min(50 * 2 ** retries, reconnectMsMax),
      },
    });
    client.on('error', (error: unknown) => outage.began(error));
    client.on('ready', () => {
      available();
      void beat(true);
    });
    // The gateway does not wait for Redis: it can do without.
    client.connect().catch((error: unknown) => outage.began(error));
  }

  const isReady = (): boolean => client?.isReady === true;

  /** Sends a command. It is only called once the client has been ready. */
  const send = (command: readonly string[]): Promise<unknown> => client!.sendCommand(command);

  function available(): void {
    timeouts = 0;
    outage.ended();
    restoreInFlight();
  }

  /**
   * Runs a script, with a metric and, in a recorded trace, a span. Throws if there is no answer in time; passes an answer that arrives after all to
   * `onLate`.
   */
  async function run(
    called: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    onLate: (answer: unknown) => void = () => undefined,
  ): Promise<unknown> {
    const span = traceCommand('EVALSHA', called.name, server);
    const beganAtMs = performance.now();
    const answering = evaluate(called, keys, args);
    try {
      const answer = await inTime(answering);
      timeouts = 0;
      countCommand('EVALSHA', beganAtMs);
      if (span !== undefined) endStatement(span);
      return answer;
    } catch (error) {
      const isLate = error instanceof LateAnswer;
      if (isLate) noteTimeout(beganAtMs);
      if (!isLate || timeouts >= timeoutsMax) outage.began(error);
      countCommand('EVALSHA', beganAtMs, error);
      if (span !== undefined) endStatement(span, error);
      if (isLate) answering.then(onLate, () => undefined);
      throw error;
    }
  }

  /** Counts commands that waited at the same time once: a short stall must not end the sharing. */
  function noteTimeout(beganAtMs: number): void {
    if (beganAtMs < lastTimeoutAtMs) return;
    timeouts += 1;
    lastTimeoutAtMs = performance.now();
  }

  async function evaluate({ text, sha }: Script, keys: readonly string[], args: readonly (string | number)[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args.map(String)];
    unanswered += 1;
    try {
      return await send(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return await send(['EVAL', text, ...rest]);
    } finally {
      unanswered -= 1;
    }
  }

  /** Announces the gateway. While Redis is unavailable, this also checks whether it answers again. */
  async function beat(isRestored = false): Promise<void> {
    const wasUnavailable = outage.isOn();
    if (!isReady() || (wasUnavailable && unanswered > 0)) return;
    try {
      const [count, wasAlive] = ((await run(alive, [gatewaysKey], [id, aliveMs])) as unknown[]).map(Number) as [number, number];
      gateways = Math.max(1, count);
      if (wasUnavailable) available();
      else if (wasAlive === 0 && !isRestored) restoreInFlight();
    } catch (error) {
      log.debug({ err: error }, 'the gateway could not announce itself in Redis');
    }
  }

  /**
   * Corrects the calls in flight in Redis: what was sent when the connection broke may or may not have been executed, and another gateway may have
   * taken this one for lost, because it was suspended or the clock of Redis was set forward.
   */
  function restoreInFlight(): void {
    for (const [key, calls] of inFlight) {
      // A plain command: a script that Redis does not know would be executed only after the next calls are counted.
      const restored = send(calls === 0 ? ['HDEL', key, id] : ['HSET', key, id, String(calls)]);
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
    const limits = subjects.flatMap(({ requests = 0, tokens = 0, concurrent = 0 }) => [requests, tokens, concurrent]);
    const taking = run(take, keysOf(subjects), [id, demand.tokens, ...limits], (late) => {
      // The call was decided without Redis and counted after all: its place among the calls in flight is freed.
      const checked = checkedOf(late, subjects, demand);
      if (checked.refusal === undefined) checked.end(0, clock.monotonicMs());
    });
    try {
      return checkedOf(await taking, subjects, demand);
    } catch (error) {
      countInFlight(concurrentOf(subjects), 0);
      throw error;
    }
  }

  function checkedOf(reply: unknown, subjects: readonly Subject[], demand: Demand): Checked {
    const answer = (reply as (string | number)[]).map(Number);
    const concurrent = concurrentOf(subjects);
    const [refused, limit, waitMs, bucket] = answer as [number, number, number, number];
    const figures = subjects.map((subject, index) => figuresOf(subject, answer.slice(4 + 5 * index, 9 + 5 * index)));
    if (refused > 0) return { figures, refusal: refusalOf(figures[refused - 1]!, limitNames[limit - 1]!, demand, waitMs) };
    countInFlight(concurrent, 1);
    return {
      figures,
      end(usedTokens) {
        countInFlight(concurrent, -1);
        const counted = subjects.map((subject) => (subject.concurrent === undefined ? 0 : 1));
        const forget = (): void => forgetEnded(concurrent);
        run(end, keysOf(subjects), [id, demand.tokens, bucket, usedTokens, ...counted], forget).then(forget, () => undefined);
      },
    };
  }

  function takeAlone(subjects: readonly Subject[], demand: Demand, nowMs: number): Promise<Checked> {
    if (outage.isOn()) outage.count();
    if (withoutRedis === 'local') return takeShare(local, subjects, demand, gateways, nowMs);
    throw new AppError('service_unavailable', 'The rate limits cannot be checked at the moment. Nothing was charged. Try again.', {
      retryAfterMs,
    });
  }

  return {
    take(subjects, demand, nowMs) {
      if (!isReady() || outage.isOn()) return takeAlone(subjects, demand, nowMs);
      return takeShared(subjects, demand).catch(() => takeAlone(subjects, demand, nowMs));
    },
    isWithoutRedis: () => outage.isOn(),
    async start() {
      beating = setInterval(() => void beat(), aliveIntervalMs);
      beating.unref();
      await connect();
    },
    async stop() {
      isStopped = true;
      clearInterval(beating);
      if (isReady()) await inTime(send(['ZREM', gatewaysKey, id])).catch(() => undefined);
      client?.destroy();
    },
  };
}

const keysOf = (subjects: readonly Subject[]): string[] => [
  gatewaysKey,
  ...subjects.flatMap((subject) => [`${keyPrefix}${subject.scope} ${subject.id}`, callsKeyOf(subject)]),
];

const concurrentOf = (subjects: readonly Subject[]): string[] =>
  subjects.filter(({ concurrent }) => concurrent !== undefined).map(callsKeyOf);

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

/** The error of a command that is not answered in time. */
class LateAnswer extends Error {
  override readonly name = 'timeout';
}

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new LateAnswer(`Redis did not answer within ${answerTimeoutMs} ms.`)), answerTimeoutMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
