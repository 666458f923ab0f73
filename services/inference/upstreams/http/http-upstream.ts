// An upstream behind HTTP: one pool of connections, one request per attempt, for a stream or a whole answer.
import type { Clock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import type {
  CountTokensRequest,
  CountTokensResponse,
  GenerateRequest,
  GenerateResponse,
  UpstreamLimits,
} from '#proto/inference/v1/inference.js';
import type { Readable } from 'node:stream';
import { Pool } from 'undici';
import type { InferenceConfig } from '../../config.js';
import { estimateInput, readableOf } from '../../tokens/estimate.js';
import type { SendsReasoning } from '../../tokens/prompt-text.js';
import type { Allowance } from '../../routing/pace.js';
import type { UpstreamCredential } from '../credentials.js';
import { callIdsIn } from '../requests/call-ids.js';
import { customToolNames } from '../requests/custom-tools.js';
import { nativeFor } from '../requests/native.js';
import type { RemoteWireFormat } from '../remote-format.js';
import type { CallsInFlight } from '../calls-in-flight.js';
import { type Attempt, isShortWhole, type Upstream } from '../upstream.js';
import { callsMaxReached, withoutSecret } from '../upstream-failure.js';
import { splitVectors } from '../embeddings/vectors.js';
import { callOver, Watchdog } from '../watchdog.js';
import { guardedConnector } from '#kit/net/address-guard.js';
import { readText } from '#kit/net/read-text.js';
import { encodeUtf8 } from '#kit/utf8.js';
import { decodedBody } from './decoded-body.js';
import { Exchange } from './exchange.js';
import { LongBody, longBodyBytesMin } from './long-body.js';
import { payloadReader } from './payload-reader.js';
import { relay } from './relay.js';
import { requestIdOf } from './request-id.js';
import { transportError } from './transport-error.js';
import type { Headers, Wire } from './wire.js';

/** Holds the address of an upstream and its credentials. */
export interface HttpUpstreamSettings {
  readonly id: string;
  /** As returned by parseBaseUrl. */
  readonly baseUrl: string;
  readonly credentials: readonly UpstreamCredential[];
  readonly allowPrivateNetwork: boolean;
  /** Whether short answers are requested whole for clients that do not stream. */
  readonly wholeAnswers: boolean;
  /** Its own limits, in place of those in the configuration. */
  readonly limits?: UpstreamLimits;
  /** Request fields that callers of its format may send in addition to the published ones: names, or paths with dots. */
  readonly allowedFields: readonly string[];
}

/** The dependencies of an HTTP upstream. */
export interface HttpUpstreamDeps {
  readonly config: InferenceConfig;
  readonly clock: Clock;
  readonly log: Logger;
  readonly callsInFlight: CallsInFlight;
}

// How long to wait for the end of a complete answer, so that its connection can be reused.
const drainTimeoutMs = 1000;

interface Limits {
  readonly connectTimeoutMs: number;
  readonly firstTokenTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Absent: only the call as a whole is limited. */
  readonly totalTimeoutMs: number | undefined;
  readonly callsMax: number;
  readonly responseBytesMax: number;
}

function limitsOf(own: UpstreamLimits | undefined, config: InferenceConfig): Limits {
  return {
    connectTimeoutMs: own?.connectTimeoutMs ?? config.connectTimeoutMs,
    firstTokenTimeoutMs: own?.firstTokenTimeoutMs ?? config.firstTokenTimeoutMs,
    idleTimeoutMs: own?.idleTimeoutMs ?? config.idleTimeoutMs,
    totalTimeoutMs: own?.totalTimeoutMs,
    callsMax: own?.callsMax ?? config.connectionsMax,
    responseBytesMax: config.responseBytesMax,
  };
}

/** Calls an upstream of any wire format over HTTP. */
export class HttpUpstream implements Upstream {
  readonly id: string;
  readonly format: RemoteWireFormat;
  readonly providerName: string;
  readonly sentReasoning: SendsReasoning;
  readonly address: { readonly host: string; readonly port: number };
  readonly isPrivate: boolean;
  readonly credentials: readonly UpstreamCredential[];
  readonly allowance: Allowance | undefined;
  readonly probeIntervalMs: number | undefined;
  readonly slowFirstTokenMs: number;
  readonly #pool: Pool;
  readonly #basePath: string;
  readonly #limits: Limits;

  constructor(
    private readonly settings: HttpUpstreamSettings,
    private readonly wire: Wire,
    private readonly deps: HttpUpstreamDeps,
  ) {
    const { config } = deps;
    const url = new URL(settings.baseUrl);
    this.id = settings.id;
    this.format = wire.format;
    this.providerName = wire.providerName;
    this.sentReasoning = wire.sentReasoning;
    this.address = { host: url.hostname, port: Number(url.port) || (url.protocol === 'http:' ? 80 : 443) };
    this.isPrivate = settings.allowPrivateNetwork;
    this.credentials = settings.credentials;
    const { requestsPerMinute, tokensPerMinute, probeIntervalMs } = settings.limits ?? {};
    this.probeIntervalMs = probeIntervalMs;
    const isPaced = requestsPerMinute !== undefined || tokensPerMinute !== undefined;
    this.allowance = isPaced ? { requestsPerMinute, tokensPerMinute } : undefined;
    this.#basePath = url.pathname.replace(/\/+$/, '');
    this.#limits = limitsOf(settings.limits, config);
    this.slowFirstTokenMs = settings.limits?.slowFirstTokenMs ?? this.#limits.firstTokenTimeoutMs / 2;
    this.#pool = new Pool(url.origin, {
      connections: this.#limits.callsMax,
      connect: guardedConnector({ allowPrivateNetwork: settings.allowPrivateNetwork, timeoutMs: this.#limits.connectTimeoutMs }),
      maxHeaderSize: config.headerBytesMax,
      // The watchdog enforces the time limits: undici's own timers are coarse, and also run while we keep the upstream waiting.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  answersWhole(request: GenerateRequest): boolean {
    return request.embedding !== undefined || (this.settings.wholeAnswers && isShortWhole(request, this.deps.config.wholeTokensMax));
  }

  async *generate(request: GenerateRequest, attempt: Attempt): AsyncGenerator<GenerateResponse, void, undefined> {
    const { config, log } = this.deps;
    const streams = !this.answersWhole(request);
    const wire = request.embedding === undefined ? this.wire : this.wire.embeddings!;
    const body = wire.generateBody(request, attempt.target.upstreamModel, streams);
    if (!this.#enter()) throw callsMaxReached();
    const { firstTokenTimeoutMs, totalTimeoutMs } = this.#limits;
    // Two timers run at the same time, so there are two watchdogs.
    const whole = totalTimeoutMs === undefined ? undefined : new Watchdog(attempt.signal);
    whole?.expect('finish its answer', totalTimeoutMs!);
    const watchdog = new Watchdog(whole?.signal ?? attempt.signal);
    let draining = false;
    try {
      watchdog.expect(streams ? 'begin to answer' : 'send its answer', firstTokenTimeoutMs);
      const answer = this.#post(wire.generatePath, body.json, request, attempt, watchdog);
      const { status, headers } = await answer.head;
      const { hasBody } = answer;
      const requestId = requestIdOf(headers);
      attempt.onResponse?.({ status, requestId, droppedFields: body.dropped });
      await this.#refuseErrors(answer, attempt);
      const reader = payloadReader(headers, request.embedding === undefined ? config.eventBytesMax : config.responseBytesMax);
      const isNative = nativeFor(request, this.format) !== undefined;
      const decoder = wire.decoder(request, {
        target: attempt.target,
        requestId,
        droppedFields: body.dropped,
        isNative,
        customTools: isNative && this.wire.replacesCustomTools !== true ? undefined : customToolNames(request.prompt),
        earlierCallIds: () => callIdsIn(request.prompt!),
      });
      const chunks = decodedBody(answer, headers['content-encoding'])[Symbol.asyncIterator]();
      for await (const message of relay({
        request,
        target: attempt.target,
        upstream: this,
        decoder,
        reader,
        hasBody,
        chunks,
        watchdog,
        onCut: (error) =>
          log.info({ err: error, upstream: this.id }, 'the upstream did not end its answer, of which all content had arrived'),
        limits: this.#limits,
      })) {
        if (decoder.outcome !== undefined) {
          draining = true;
          void this.#drain(chunks, watchdog);
        }
        if (request.embedding === undefined) yield message;
        else yield* splitVectors(message);
      }
    } catch (error) {
      throw watchdog.hasEnded ? watchdog.reason : transportError(error);
    } finally {
      whole?.close();
      if (!draining) this.#leave(watchdog);
    }
  }

  async countTokens(request: CountTokensRequest, attempt: Attempt): Promise<CountTokensResponse> {
    const native = await this.#countNatively(request, attempt);
    if (native !== undefined) return { inputTokens: native, estimated: false };
    const readable = readableOf(request, this);
    return { inputTokens: await estimateInput(readable, attempt.target.upstreamModel), estimated: true };
  }

  /** Requests the list of models. A server without a list works as well; one that refuses the request may still accept calls. */
  async probe(signal: AbortSignal): Promise<boolean | undefined> {
    try {
      const { statusCode, body } = await this.#getModels(signal);
      await body.dump({ limit: this.deps.config.errorBodyBytesMax, signal });
      return [401, 402, 403, 429].includes(statusCode) ? undefined : statusCode < 500;
    } catch {
      return false;
    }
  }

  async models(signal: AbortSignal): Promise<unknown> {
    try {
      const { statusCode, headers, body } = await this.#getModels(signal);
      const text = await readText(decodedBody(body, (headers as Headers)['content-encoding']), this.#limits.responseBytesMax);
      if (statusCode === 200) return JSON.parse(text);
      throw new Error(`status ${statusCode}`);
    } catch (error) {
      const message = `GET ${this.settings.baseUrl.replace(/\/+$/, '')}/models failed: ${error instanceof Error ? error.message : 'no answer'}; see \`tollgate upstream test ${this.id}\`.`;
      throw new AppError('upstream_failed', message, { cause: error });
    }
  }

  #getModels(signal: AbortSignal) {
    const headers = this.wire.headers(this.credentials[0]?.secret, { messagesVersion: '', native: undefined });
    return this.#pool.request({
      method: 'GET',
      path: `${this.#basePath}/models`,
      headers: { ...headers, accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'tollgate' },
      signal,
    });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  /** Returns the vendor's count; undefined if it offers none or fails, which must not fail the caller. */
  async #countNatively(request: CountTokensRequest, attempt: Attempt): Promise<number | undefined> {
    const { count } = this.wire;
    // A busy vendor must not fail the caller either.
    if (count === undefined || !this.#enter()) return undefined;
    const watchdog = new Watchdog(attempt.signal);
    try {
      watchdog.expect('count tokens', this.deps.config.countTimeoutMs);
      const countBody = count.body(request, attempt.target.upstreamModel);
      const answer = this.#post(count.path, countBody, request, attempt, watchdog);
      await this.#refuseErrors(answer, attempt);
      const body = decodedBody(answer, (await answer.head).headers['content-encoding']);
      return count.read(JSON.parse(await readText(body, this.deps.config.errorBodyBytesMax)));
    } catch (error) {
      if (attempt.signal.aborted) throw attempt.signal.reason;
      this.deps.log.warn({ err: error, upstream: this.id }, 'upstream did not count tokens; estimating');
      return undefined;
    } finally {
      this.#leave(watchdog);
    }
  }

  #post(path: string, body: string, request: GenerateRequest | CountTokensRequest, attempt: Attempt, watchdog: Watchdog): Exchange {
    const exchange = new Exchange();
    const bytes = encodeUtf8(body);
    const headers = {
      ...attempt.traceHeaders,
      ...this.wire.headers(this.#secretOf(attempt), request),
      'content-type': 'application/json',
      'content-length': String(bytes.length),
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'user-agent': 'tollgate',
    };
    watchdog.onEnd((reason) => exchange.abort(reason));
    const sent = bytes.length < longBodyBytesMin ? bytes : (new LongBody(bytes) as unknown as Readable);
    if (!watchdog.hasEnded) this.#pool.dispatch({ method: 'POST', path: `${this.#basePath}${path}`, headers, body: sent }, exchange);
    return exchange;
  }

  #secretOf({ credential = this.credentials[0] }: Attempt): string | undefined {
    return credential?.secret;
  }

  async #refuseErrors(answer: Exchange, attempt: Attempt): Promise<void> {
    const { status, headers } = await answer.head;
    if (status >= 200 && status < 300) return;
    const { config, clock } = this.deps;
    const body = await readText(decodedBody(answer, headers['content-encoding']), config.errorBodyBytesMax);
    const shown = withoutSecret(body, this.#secretOf(attempt));
    throw this.wire.responseError(status, headers, shown, clock.nowMs(), attempt.target.upstreamModel);
  }

  /** Reads the few bytes after a complete answer, so that the connection is free for the next call. */
  async #drain(chunks: AsyncIterator<unknown>, watchdog: Watchdog): Promise<void> {
    watchdog.detach();
    watchdog.expect('end its answer', drainTimeoutMs);
    try {
      while ((await chunks.next()).done !== true);
    } catch {
      // The answer was complete; only the connection is lost.
    } finally {
      this.#leave(watchdog);
    }
  }

  /** Counts a call as in flight. Returns false if the maximum is reached, so that no call waits for a connection. */
  #enter(): boolean {
    const { callsInFlight } = this.deps;
    // The call is counted before the check, so that two threads that begin a call at the same moment see each other's.
    callsInFlight.count(this.id, 1);
    if (callsInFlight.of(this.id) <= this.#limits.callsMax) return true;
    callsInFlight.count(this.id, -1);
    return false;
  }

  #leave(watchdog: Watchdog): void {
    this.deps.callsInFlight.count(this.id, -1);
    watchdog.end(callOver);
  }
}
