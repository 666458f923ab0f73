// The kinds of calls in the load. Each has only one possible answer, so that the text and cost of a full answer are known in advance.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nanoUsd } from '../support/clients/calls.js';
import { runCommand } from '../support/clients/command-runner.js';
import { eventually } from '../support/systems/process.js';
import type { System } from '../support/systems/system.js';
import { type StubUpstream, stubApiKey } from '../upstream/stub-upstream.js';
import type { Tokens } from './outcome.js';

/** A kind of call, which the load repeats. */
export interface CallKind {
  /** For example "messages sandbox/story streamed". */
  readonly name: string;
  readonly path: '/v1/chat/completions' | '/v1/messages' | '/v1/responses' | '/v1/embeddings';
  readonly model: string;
  readonly isStream: boolean;
  readonly content: string;
  readonly maxTokens: number;
  /** The maximum number of tokens in one delta of the stream. */
  readonly tokensPerDeltaMax: number;
  /** The client disconnects after this many deltas. */
  readonly disconnectsAfter?: number;
}

/** Prices of one model, in nano-USD per million tokens, and for a request. */
export interface Price {
  readonly input: bigint;
  readonly output: bigint;
  readonly request: bigint;
}

const paths = ['/v1/chat/completions', '/v1/messages'] as const;
const stubText = 'The quick brown fox jumps over the lazy dog, again and again and again, until the evening comes. '.repeat(6).trim();
// At least as many as Tollgate estimates if the upstream breaks off before it reports usage.
const stubTokens = { input: 17, output: 150 };
/** The stub sends deltas of eight characters, and no token is empty. */
const charsPerDelta = 8;

function kindOf(path: CallKind['path'], model: string, isStream: boolean, content: string, more: Partial<CallKind> = {}): CallKind {
  const name = `${path} ${model} ${isStream ? 'streamed' : 'whole'} ${content}`;
  return { name, path, model, isStream, content, maxTokens: 500, tokensPerDeltaMax: 1, ...more };
}

const stub = { tokensPerDeltaMax: charsPerDelta };

const embedding: CallKind = {
  name: '/v1/embeddings sandbox/embed',
  path: '/v1/embeddings',
  model: 'sandbox/embed',
  isStream: false,
  content: 'delay=100ms Hello there',
  maxTokens: 0,
  tokensPerDeltaMax: 1,
};

/** The kinds of the responses format that take another way through the gateway than those of the others. */
const responses: readonly CallKind[] = [
  kindOf('/v1/responses', 'sandbox/echo', false, 'Hello there'),
  kindOf('/v1/responses', 'sandbox/story', true, 'delay=15ms tokens=150'),
  kindOf('/v1/responses', 'sandbox/story', true, 'delay=5ms tokens=300', { maxTokens: 120 }),
  kindOf('/v1/responses', 'sandbox/story', true, 'delay=10ms tokens=200', { disconnectsAfter: 30 }),
  kindOf('/v1/responses', 'r/slow', true, 'Tell me', stub),
  kindOf('/v1/responses', 'r/slow', false, 'Tell me', stub),
];

/** Long and short streams, slow whole answers, and callers that disconnect, in every format, over the sandbox and real upstreams; and embeddings. */
export const callKinds: readonly CallKind[] = paths
  .flatMap((path) => {
    const kind = (model: string, isStream: boolean, content: string, more?: Partial<CallKind>): CallKind =>
      kindOf(path, model, isStream, content, more);
    return [
      kind('sandbox/echo', false, 'Hello there'),
      kind('sandbox/echo', true, 'Hello there'),
      kind('sandbox/story', true, 'delay=10ms tokens=40'),
      kind('sandbox/story', true, 'delay=15ms tokens=150'),
      kind('sandbox/story', true, 'delay=5ms tokens=300', { maxTokens: 120 }),
      kind('sandbox/story', false, 'delay=10ms tokens=60'),
      kind('sandbox/story', true, 'delay=10ms tokens=200', { disconnectsAfter: 30 }),
      kind('cc/slow', true, 'Tell me', stub),
      kind('m/slow', true, 'Tell me', stub),
      kind('m/slow', false, 'Tell me', stub),
    ];
  })
  .concat(responses, embedding);

/** Adds the stub's models to a system, behind an upstream of each format. */
export async function addStubModels(system: System, stub: StubUpstream): Promise<void> {
  stub.script('slow', { blocks: [{ type: 'text', text: stubText }], usage: stubTokens, frameDelayMs: 10 });
  for (const [prefix, format] of [
    ['cc', 'chat-completions'],
    ['m', 'messages'],
    ['r', 'responses'],
  ] as const) {
    const options = ['--format', format, '--base-url', stub.baseUrl, '--allow-private-network', '--secret-stdin'];
    const { code, stderr } = await runCommand(['upstream', 'add', `stub-${prefix}`, ...options], system.operatorEnv(), `${stubApiKey}\n`);
    if (code !== 0) throw new Error(stderr);
    const path = join(system.dataDir, 'model.json');
    writeFileSync(path, JSON.stringify(stubModel(`${prefix}/slow`, `stub-${prefix}`)));
    await system.cli('model', 'put', path);
    await system.cli('price', 'publish', `${prefix}/slow`, '--input', '1.37', '--output', '5.11', '--unit', 'request=0.000123457');
  }
}

function stubModel(id: string, upstreamId: string): object {
  return {
    id,
    display_name: id,
    context_limit_tokens: 100_000,
    output_limit_tokens: 4000,
    input_modalities: ['text'],
    output_modalities: ['text'],
    capabilities: ['sampling'],
    targets: [{ upstream_id: upstreamId, upstream_model: 'slow' }],
    tokenizer: 'o200k',
    state: 'active',
  };
}

interface CatalogModel {
  readonly id: string;
  readonly available: boolean;
  readonly usd_per_million_tokens: { readonly input: string; readonly output: string } | null;
  readonly unit_prices: readonly { readonly unit: string; readonly usd: string }[];
}

/** Returns the prices of all models from the public catalog, once it lists the models of these kinds of calls. */
export async function readPrices(system: System, kinds: readonly CallKind[]): Promise<Map<string, Price>> {
  return eventually(async () => {
    const { data } = (await (await fetch(`${system.baseUrl}/v1/catalog`)).json()) as { data: CatalogModel[] };
    const prices = new Map<string, Price>();
    for (const { id, available, usd_per_million_tokens: usd, unit_prices: units } of data) {
      if (!available || usd === null) continue;
      const request = units.find(({ unit }) => unit === 'request')?.usd ?? '0';
      prices.set(id, { input: nanoUsd(usd.input), output: nanoUsd(usd.output), request: nanoUsd(request) });
    }
    return kinds.every(({ model }) => prices.has(model)) ? prices : undefined;
  });
}

/** Returns tokens times price, with each line rounded up once, and the price of the request. */
export function costOf(tokens: Tokens, price: Price): bigint {
  const line = (count: number, perMtok: bigint): bigint => (BigInt(count) * perMtok + 999_999n) / 1_000_000n;
  return line(tokens.input, price.input) + line(tokens.output, price.output) + price.request;
}
