// Light traffic in both formats, whole and streamed, which records what its clients observe.
import { setTimeout as sleep } from 'node:timers/promises';
import { post } from './calls.js';
import type { System } from '../systems/system.js';

/** A call as observed by its client. */
export interface SeenCall {
  readonly path: string;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  readonly isStream: boolean;
  /** 0 if the connection failed before a response. */
  readonly status: number;
  readonly requestId: string | null;
  /** Whether the answer ended without an error. */
  readonly isWhole: boolean;
  /** `error.reason` of a refusal, or of an error inside a stream. */
  readonly reason: string | undefined;
  /** `error.message` of the same. */
  readonly message: string | undefined;
  readonly retryAfter: string | null;
}

/** Running traffic. */
export interface Traffic {
  /** Starts no more calls, waits for those in flight and returns all calls. */
  stop(): Promise<SeenCall[]>;
}

const pauseMs = 50;
const streamEveryMs = 400;
const streamText = 'delay=20ms tokens=60';

/** Makes calls in both formats continuously, and starts a stream of a little more than a second every 0.4 s. */
export function startTraffic(system: System, secret: string): Traffic {
  const seen: SeenCall[] = [];
  const streams: Promise<unknown>[] = [];
  let isOver = false;
  const call = async (path: string, model: string, content: string, isStream: boolean): Promise<void> => {
    seen.push(await observe(system, secret, path, { model, stream: isStream, max_tokens: 200, messages: [{ role: 'user', content }] }));
  };
  const short = async (path: string): Promise<void> => {
    for (; !isOver; await sleep(pauseMs)) await call(path, 'sandbox/echo', 'Hello there', false);
  };
  const long = async (): Promise<void> => {
    for (let count = 0; !isOver; await sleep(streamEveryMs), count += 1)
      streams.push(call(paths[count % 2]!, 'sandbox/story', streamText, true));
  };
  const all = Promise.all([...paths.map(short), long()]);
  return {
    async stop() {
      isOver = true;
      await all;
      await Promise.all(streams);
      return seen;
    },
  };
}

const paths = ['/v1/chat/completions', '/v1/messages'];

/** Makes one call and reads its answer to the end. */
export async function observe(
  system: System,
  secret: string,
  path: string,
  body: { stream: boolean } & Record<string, unknown>,
): Promise<SeenCall> {
  const beganAtMs = Date.now();
  const isStream = body.stream;
  try {
    const response = await post(system, path, secret, body);
    const requestId = response.headers.get('x-request-id');
    const text = await response.text().catch(() => '');
    const isWhole = response.status === 200 && (isStream ? /data: \[DONE\]|event: message_stop/.test(text) : text !== '');
    const reason = /"reason":"(\w+)"/.exec(text)?.[1];
    const message = /"message":"([^"]*)"/.exec(text)?.[1];
    return {
      path,
      beganAtMs,
      endedAtMs: Date.now(),
      isStream,
      status: response.status,
      requestId,
      isWhole,
      reason,
      message,
      retryAfter: response.headers.get('retry-after'),
    };
  } catch {
    return {
      path,
      beganAtMs,
      endedAtMs: Date.now(),
      isStream,
      status: 0,
      requestId: null,
      isWhole: false,
      reason: undefined,
      message: undefined,
      retryAfter: null,
    };
  }
}
