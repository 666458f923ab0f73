// Clients that keep their connections, as client libraries and proxies do, under a steady load. None retries.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';

/** What the clients observed. */
export interface KeepAliveResult {
  /** Calls that were answered in full. */
  readonly answered: number;
  /** What failed, and how. */
  readonly failed: readonly string[];
  /** Connections whose last answer announced their end. */
  readonly closed: number;
}

/** A running load. */
export interface KeepAliveLoad {
  /** Starts no more calls, and returns what was observed when those in flight have ended. */
  stop(): Promise<KeepAliveResult>;
}

/** Options of `startKeepAlive`. */
export interface KeepAliveOptions {
  readonly baseUrl: string;
  readonly key: string;
  /** Connections that are used all the time. */
  readonly connections: number;
  /** Whether the official client libraries call as well. */
  readonly libraries?: boolean;
  readonly pauseMs?: number;
  /** Whether a client stops when its connection ends, because there is no other gateway. */
  readonly untilClosed?: boolean;
}

const messages = [{ role: 'user' as const, content: 'Hello there' }];
const story = [{ role: 'user' as const, content: 'delay=10ms tokens=40' }];

/** Starts the clients. */
export function startKeepAlive(options: KeepAliveOptions): KeepAliveLoad {
  const { baseUrl, key, connections, libraries = false, pauseMs = 10, untilClosed = false } = options;
  let isOver = false;
  let answered = 0;
  let closed = 0;
  const failed: string[] = [];

  async function repeat(call: (count: number) => Promise<string | undefined>, isToEnd = (): boolean => false): Promise<void> {
    for (let count = 0; !isOver && !isToEnd(); count += 1) {
      try {
        const fault = await call(count);
        if (fault === undefined) answered += 1;
        else failed.push(fault);
      } catch (error) {
        failed.push(`${new Date().toISOString()} ${codeOf(error)} ${String(error)}`);
      }
      await sleep(pauseMs);
    }
  }

  async function raw(): Promise<void> {
    const client = new Client(baseUrl, { keepAliveTimeout: 60_000 });
    let isClosed = false;
    const call = async (count: number): Promise<string | undefined> => {
      const stream = count % 8 === 7;
      const body = JSON.stringify(stream ? { model: 'sandbox/story', stream, messages: story } : { model: 'sandbox/echo', messages });
      const answer = await client.request({
        method: 'POST',
        path: '/v1/chat/completions',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      });
      isClosed = answer.headers['connection'] === 'close';
      const text = await answer.body.text();
      if (isClosed) closed += 1;
      const isWhole = answer.statusCode === 200 && (!stream || text.includes('data: [DONE]'));
      return isWhole ? undefined : `${new Date().toISOString()} ${answer.statusCode} ${text.slice(-300)}`;
    };
    await repeat(call, () => untilClosed && isClosed);
    await client.destroy();
  }

  async function openai(): Promise<void> {
    const { default: OpenAI } = await import('openai');
    const client = new OpenAI({ baseURL: `${baseUrl}/v1`, apiKey: key, maxRetries: 0 });
    await repeat(async () => {
      const { choices } = await client.chat.completions.create({ model: 'sandbox/echo', messages });
      return choices[0]?.finish_reason === 'stop' ? undefined : JSON.stringify(choices);
    });
  }

  async function anthropic(): Promise<void> {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    const client = new Anthropic({ baseURL: baseUrl, apiKey: key, maxRetries: 0 });
    await repeat(async () => {
      const final = await client.messages.stream({ model: 'sandbox/story', max_tokens: 50, messages: story }).finalMessage();
      return final.stop_reason === null ? JSON.stringify(final) : undefined;
    });
  }

  const all = [...Array.from({ length: connections }, raw), ...(libraries ? [openai(), anthropic()] : [])];
  return {
    async stop() {
      isOver = true;
      await Promise.all(all);
      return { answered, failed, closed };
    },
  };
}

/** Returns the code of a system error, which client libraries wrap. */
function codeOf(error: unknown): string | undefined {
  for (let each = error; typeof each === 'object' && each !== null; each = (each as { cause?: unknown }).cause) {
    const { code } = each as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return undefined;
}
