// Makes one call and records what its client observed, independently of anything that Tollgate reports about it later.
import { randomUUID } from 'node:crypto';
import { type IncomingMessage, request } from 'node:http';
import type { CallKind } from './call-kinds.js';

/** Token counts as reported to a client. */
export interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** How a call ended for its client. */
export interface Outcome {
  /** The client's own id for the call (x-request-id), which its usage record must contain. */
  readonly clientId: string;
  readonly kind: CallKind;
  /** Tollgate's id of the call, if there was a response. */
  readonly requestId: string | undefined;
  /** The call's Idempotency-Key. */
  readonly idempotencyKey: string | undefined;
  /** For a replayed answer: Tollgate's id of the original call. */
  readonly originalRequestId: string | undefined;
  readonly beganAtMs: number;
  readonly endedAtMs: number;
  /** 0 if the connection failed before a response. */
  readonly status: number;
  /**
   * whole: the full answer arrived. refused: an error in place of an answer. errored: a stream that ended with an error. cut: the
   * connection broke. disconnected: this client disconnected. truncated: the stream ended cleanly but without its last event. hung: the
   * call did not end within two minutes.
   */
  readonly how: 'whole' | 'refused' | 'errored' | 'cut' | 'disconnected' | 'truncated' | 'hung';
  /** `error.reason` of a refusal or of an error in a stream. */
  readonly reason: string | undefined;
  readonly retryAfter: string | undefined;
  /** The text that arrived, and the number of pieces in which it arrived. */
  readonly text: string;
  readonly deltas: number;
  /** The usage that the answer reported; only for a whole answer. */
  readonly reported: Tokens | undefined;
}

// Much longer than any outage here, and than the gateway waits for metering.
const callMsMax = 120_000;

/** Options of a call in addition to its kind. */
export interface CallOptions {
  readonly idempotencyKey?: string;
  /** Sent as the official client libraries announce their retries. */
  readonly retryCount?: number;
  /** The client disconnects if nothing has arrived after this time. */
  readonly patienceMs?: number;
  /** Whether the answer is read to its end even if its kind disconnects early. */
  readonly readsToEnd?: boolean;
}

/** Makes one call on its own connection and reads until it ends in any way. */
export function makeCall(
  baseUrl: string,
  secret: string,
  kind: CallKind,
  { idempotencyKey, retryCount, patienceMs, readsToEnd = false }: CallOptions = {},
): Promise<Outcome> {
  const clientId = randomUUID();
  const beganAtMs = Date.now();
  const isMessages = kind.path === '/v1/messages';
  const body = JSON.stringify(bodyOf(kind));
  return new Promise((resolve) => {
    let response: IncomingMessage | undefined;
    let received = '';
    let hasDisconnected = false;
    let isHung = false;
    const finish = (): void => {
      const answer = kind.isStream && response?.statusCode === 200 ? readStream(received) : readWhole(received, response);
      const isClean = response?.complete === true;
      resolve({
        clientId,
        kind,
        requestId: header(response, 'x-request-id'),
        idempotencyKey,
        originalRequestId: header(response, 'x-tollgate-original-request-id'),
        beganAtMs,
        endedAtMs: Date.now(),
        status: response?.statusCode ?? 0,
        how: howItEnded({ status: response?.statusCode ?? 0, hasDisconnected, isHung, isClean, ...answer }),
        reason: answer.reason,
        retryAfter: header(response, 'retry-after'),
        text: answer.text,
        deltas: answer.deltas,
        reported: answer.isWhole ? answer.reported : undefined,
      });
    };
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      authorization: `Bearer ${secret}`,
      'x-request-id': clientId,
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      ...(retryCount === undefined ? {} : { 'x-stainless-retry-count': String(retryCount) }),
      ...(isMessages ? { 'anthropic-version': '2023-06-01' } : {}),
    };
    const sent = request(`${baseUrl}${kind.path}`, { method: 'POST', agent: false, headers }, (incoming) => {
      response = incoming;
      let deltasSeen = 0;
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        received += chunk;
        if (kind.disconnectsAfter === undefined || readsToEnd) return;
        deltasSeen += chunk.split('data: ').length - 1;
        if (deltasSeen < kind.disconnectsAfter || hasDisconnected) return;
        hasDisconnected = true;
        sent.destroy();
      });
      incoming.on('error', () => undefined);
    });
    sent.on('error', () => undefined);
    const timer = setTimeout(() => {
      isHung = true;
      sent.destroy();
    }, callMsMax);
    const impatience =
      patienceMs === undefined
        ? undefined
        : setTimeout(() => {
            if (response !== undefined) return;
            hasDisconnected = true;
            sent.destroy();
          }, patienceMs);
    // The last of all events, with or without a response.
    sent.on('close', () => {
      clearTimeout(timer);
      clearTimeout(impatience);
      setImmediate(finish);
    });
    sent.end(body);
  });
}

function bodyOf({ path, model, isStream, maxTokens, content }: CallKind): object {
  if (path === '/v1/embeddings') return { model, input: content };
  if (path === '/v1/responses') return { model, stream: isStream, max_output_tokens: maxTokens, input: content };
  const options = isStream && path === '/v1/chat/completions' ? { stream_options: { include_usage: true } } : {};
  return { model, stream: isStream, max_tokens: maxTokens, messages: [{ role: 'user', content }], ...options };
}

interface Answer {
  readonly isWhole: boolean;
  readonly text: string;
  readonly deltas: number;
  readonly reported: Tokens | undefined;
  readonly reason: string | undefined;
}

function howItEnded(call: Answer & { status: number; hasDisconnected: boolean; isHung: boolean; isClean: boolean }): Outcome['how'] {
  if (call.isWhole) return 'whole';
  if (call.isHung) return 'hung';
  if (call.hasDisconnected) return 'disconnected';
  if (call.status !== 200) return call.isClean ? 'refused' : 'cut';
  if (call.reason !== undefined) return 'errored';
  return call.isClean ? 'truncated' : 'cut';
}

interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  input_tokens?: number;
  output_tokens?: number;
}

interface Frame {
  type?: string;
  choices?: { delta: { content?: string | null } }[];
  delta?: { text?: string } | string;
  response?: { usage?: Usage | null };
  usage?: Usage | null;
  error?: { reason?: string };
}

const textDeltas = new Set(['content_block_delta', 'response.output_text.delta']);
const lastEvents = new Set(['message_stop', 'response.completed', 'response.incomplete']);

function textOf(delta: Frame['delta']): string | undefined {
  return typeof delta === 'string' ? delta : delta?.text;
}

function readStream(received: string): Answer {
  let text = '';
  let deltas = 0;
  let reported: Tokens | undefined;
  let isWhole = false;
  let reason: string | undefined;
  // The text after the last empty line is not a complete frame.
  for (const frame of received.split('\n\n').slice(0, -1)) {
    const data = /^data: (.*)$/m.exec(frame)?.[1];
    if (data === undefined) continue;
    if (data === '[DONE]') {
      isWhole = true;
      continue;
    }
    const event = JSON.parse(data) as Frame;
    const piece = event.choices?.[0]?.delta.content ?? (textDeltas.has(event.type ?? '') ? textOf(event.delta) : undefined) ?? '';
    if (piece !== '') deltas += 1;
    text += piece;
    const usage = event.usage ?? event.response?.usage;
    if (usage != null) reported = tokensOf(usage);
    if (lastEvents.has(event.type ?? '')) isWhole = true;
    if (event.error !== undefined) reason = event.error.reason ?? 'none';
  }
  return { isWhole, text, deltas, reported, reason };
}

function readWhole(received: string, response: IncomingMessage | undefined): Answer {
  const none = { isWhole: false, text: '', deltas: 0, reported: undefined, reason: undefined };
  if (response?.complete !== true) return none;
  const body = JSON.parse(received) as {
    choices?: { message: { content: string } }[];
    content?: { text: string }[];
    output?: { content: { text: string }[] }[];
    data?: unknown;
    usage?: Usage;
    error?: { reason?: string };
  };
  if (response.statusCode !== 200) return { ...none, reason: body.error?.reason ?? 'none' };
  // Vectors have no output tokens.
  if (body.data !== undefined)
    return { ...none, isWhole: true, text: JSON.stringify(body.data), reported: { input: body.usage?.prompt_tokens ?? -1, output: 0 } };
  const text = body.choices?.[0]?.message.content ?? body.content?.[0]?.text ?? body.output?.[0]?.content[0]?.text ?? '';
  return { ...none, isWhole: true, text, reported: tokensOf(body.usage ?? {}) };
}

function tokensOf(usage: Usage): Tokens {
  return { input: usage.prompt_tokens ?? usage.input_tokens ?? -1, output: usage.completion_tokens ?? usage.output_tokens ?? -1 };
}

function header(response: IncomingMessage | undefined, name: string): string | undefined {
  const value = response?.headers[name];
  return typeof value === 'string' ? value : undefined;
}
