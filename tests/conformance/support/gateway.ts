// One gateway and one stub vendor per test file: a model with an upstream of each format, and calls that return their outcome.
import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import { answerFaults, errorFaults, streamFaults, tokenCountFaults } from '../../../gateway/formats/testing/check-answer.js';
import { type Frame, framesOf } from '../../../gateway/formats/testing/frames.js';
import { get, nanoUsd, post } from '../../support/clients/calls.js';
import { eventually } from '../../support/systems/process.js';
import { addModel, addUpstream, stubPrices } from '../../support/stub-models.js';
import { startSystem, type System } from '../../support/systems/system.js';
import type { Json } from '../../upstream/checks/check.js';
import { expectNoneRefused } from '../../upstream/expect-none-refused.js';
import type { VendorRules } from '../../upstream/checks/rules.js';
import type { Script, Usage } from '../../upstream/script.js';
import { type RecordedRequest, startStubUpstream, stubApiKey, type StubUpstream } from '../../upstream/stub-upstream.js';
import { isNative, type Path, type WireName } from './paths.js';
import { seenInStream, seenInWhole } from './read-answer.js';
import { nothing, type Seen } from './seen.js';

/** The usage record of one call. */
interface Charged {
  /** The model's id in the catalog. */
  readonly model: string;
  readonly tokens: Required<Usage>;
  readonly chargeNanoUsd: bigint;
  readonly source: 'reported' | 'estimated';
  readonly outcome: string;
  readonly quarantined: boolean;
}

/** The outcome of one call. */
export interface Outcome {
  readonly status: number;
  readonly headers: Headers;
  readonly seen: Seen;
  /** The frames of a streamed answer; empty otherwise. */
  readonly frames: readonly Frame[];
  /** The body of an answer that is not streamed. */
  readonly body: Json;
  /** The raw response. */
  readonly text: string;
  /** The request to the upstream; undefined if there was none. */
  readonly sent: RecordedRequest | undefined;
}

/** A gateway in front of the stub. */
export interface Conformance {
  readonly stub: StubUpstream;
  /** Sets how the upstream of this format answers from now on. */
  answer(upstream: WireName, script: Script): void;
  /** Sets the rules of the upstream's model for the current test. */
  rules(upstream: WireName, rules: VendorRules): void;
  /** Makes a call with a body without `model` and `stream`, and reads the answer to its end. */
  call(path: Path, body: Json, headers?: Record<string, string>): Promise<Outcome>;
  /** Requests a stream and disconnects as soon as some text has arrived. */
  leave(path: Path, body: Json): Promise<Pick<Outcome, 'headers' | 'sent'>>;
  /** Calls POST /v1/messages/count_tokens. */
  count(upstream: WireName, body: Json, headers?: Record<string, string>): Promise<{ status: number; body: Json }>;
  /** Makes a very cheap request, to check that the gateway responds. */
  alive(): Promise<void>;
  /** Returns the usage record of the call. */
  charged(outcome: Pick<Outcome, 'headers'>): Promise<Charged>;
}

const idOf: Record<WireName, string> = { 'chat-completions': 'cc', messages: 'm', responses: 'r' };
const modelOf = (upstream: WireName): string => `${idOf[upstream]}/subject`;
const wholeModelOf = (upstream: WireName): string => `${idOf[upstream]}/whole`;
const upstreamModelOf = (upstream: WireName): string => `${idOf[upstream]}-subject`;
const upstreams = Object.keys(idOf) as WireName[];

// A field that no vendor publishes, which the operator of these upstreams allows.
const allowed = ['--allow-field', 'hologram'];

/**
 * Starts both before the tests of a file and stops them afterwards; `wholePaths` need `withWhole`. After each test, checks that the vendor has
 * refused no request.
 */
export function conformance({ withWhole = false } = {}): Conformance {
  let system: System;
  let stub: StubUpstream;

  beforeAll(async () => {
    stub = await startStubUpstream();
    system = await startSystem('single', {
      TOLLGATE_GATEWAY_READ_ON_TIME: '1500ms',
      TOLLGATE_INFERENCE_IDLE_TIMEOUT: '5s',
      TOLLGATE_INFERENCE_FIRST_TOKEN_TIMEOUT: '5s',
    });
    for (const upstream of upstreams) {
      const id = idOf[upstream];
      await addUpstream(system, id, upstream, stub.baseUrl, stubApiKey, ...allowed);
      await addSubject(system, id, upstream, modelOf(upstream));
      if (!withWhole) continue;
      await addUpstream(system, `${id}-whole`, upstream, stub.baseUrl, stubApiKey, '--whole-answers', ...allowed);
      await addSubject(system, `${id}-whole`, upstream, wholeModelOf(upstream));
    }
    await eventually(async () =>
      (await (await get(system, '/v1/models', system.firstKey)).text()).includes((withWhole ? wholeModelOf : modelOf)(upstreams.at(-1)!))
        ? true
        : undefined,
    );
  });

  afterEach(() => {
    for (const upstream of upstreams) stub.rules(upstreamModelOf(upstream), {});
    expectNoneRefused(stub);
  });

  afterAll(async () => {
    await system?.stop();
    await stub?.stop();
  });

  return {
    get stub() {
      return stub;
    },
    answer: (upstream, script) => stub.script(upstreamModelOf(upstream), script),
    rules: (upstream, rules) => stub.rules(upstreamModelOf(upstream), rules),
    async call(path, body, headers = {}) {
      // Calls are made one after another, so that the next request is this call's.
      const asked = stub.requests.length;
      const response = await post(
        system,
        pathOf(path),
        system.firstKey,
        { model: (path.isAskedWhole === true ? wholeModelOf : modelOf)(path.upstream), ...body, stream: path.streaming },
        { headers },
      );
      const text = await response.text();
      return { ...readAnswer(path, response, text, body), text, sent: stub.requests[asked] };
    },
    async leave(path, body) {
      const asked = stub.requests.length;
      const leaving = new AbortController();
      const response = await post(
        system,
        pathOf(path),
        system.firstKey,
        { model: modelOf(path.upstream), ...body, stream: true },
        { signal: leaving.signal },
      );
      let text = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        text += chunk;
        if (/"(content|text|delta)":"[^"]/.test(text)) break;
      }
      leaving.abort();
      return { headers: response.headers, sent: stub.requests[asked] };
    },
    async count(upstream, body, headers = {}) {
      const response = await post(system, '/v1/messages/count_tokens', system.firstKey, { model: modelOf(upstream), ...body }, { headers });
      const counted = (await response.json()) as Json;
      expect(response.status === 200 ? tokenCountFaults(counted) : errorFaults('messages', counted)).toEqual([]);
      return { status: response.status, body: counted };
    },
    async alive() {
      await (await get(system, '/livez', system.firstKey)).arrayBuffer();
    },
    charged: ({ headers }) => charged(system, headers.get('x-request-id')!),
  };
}

function pathOf({ client }: Path): string {
  return { 'chat-completions': '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' }[client];
}

function readAnswer(path: Path, response: Response, text: string, body: Json): Omit<Outcome, 'text' | 'sent'> {
  const { status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (isStream) {
    const wantsUsage = (body['stream_options'] as Json | undefined)?.['include_usage'] === true;
    expect(streamFaults(path.client, text, { includeUsage: wantsUsage, native: isNative(path) })).toEqual([]);
    const frames = framesOf(text);
    return {
      status,
      headers,
      frames,
      body: {},
      seen: seenInStream[path.client](frames, wantsUsage),
    };
  }
  const json = JSON.parse(text) as Json;
  expect(status === 200 ? answerFaults(path.client, json, { native: isNative(path) }) : errorFaults(path.client, json)).toEqual([]);
  if (status !== 200)
    return { status, headers, frames: [], body: json, seen: { ...nothing(), error: (json['error'] as Json)['type'] as string } };
  return { status, headers, frames: [], body: json, seen: seenInWhole[path.client](json) };
}

async function charged(system: System, requestId: string): Promise<Charged> {
  const record = await eventually(async () => {
    const response = await get(system, `/v1/usage/${requestId}`, system.firstKey);
    return response.status === 200 ? ((await response.json()) as Json) : undefined;
  });
  const tokens = record['tokens'] as Record<string, number>;
  return {
    model: record['model'] as string,
    tokens: {
      input: tokens['input']!,
      cacheRead: tokens['cache_read']!,
      cacheWrite5m: tokens['cache_write_5m']!,
      cacheWrite1h: tokens['cache_write_1h']!,
      output: tokens['output']!,
      reasoning: tokens['reasoning']!,
    },
    chargeNanoUsd: nanoUsd(record['charge_usd'] as string),
    source: record['usage_source'] as Charged['source'],
    outcome: record['outcome'] as string,
    quarantined: record['quarantined'] as boolean,
  };
}

/** Returns tokens × price, to the nano-dollar. */
export function priceOf({ input, cacheRead = 0, cacheWrite5m = 0, cacheWrite1h = 0, output }: Usage): bigint {
  const { input: perInput, cacheRead: perRead, cacheWrite5m: per5m, cacheWrite1h: per1h, output: perOutput } = stubPrices;
  return (
    BigInt(input) * perInput +
    BigInt(cacheRead) * perRead +
    BigInt(cacheWrite5m) * per5m +
    BigInt(cacheWrite1h) * per1h +
    BigInt(output) * perOutput
  );
}

function addSubject(system: System, upstream: string, format: WireName, id: string): Promise<void> {
  return addModel(system, id, upstream, upstreamModelOf(format), {
    context_limit_tokens: 200_000,
    output_limit_tokens: 8000,
    input_modalities: ['text', 'image', 'document'],
    tokenizer: undefined,
    aliases: [`${id}-alias`],
  });
}
