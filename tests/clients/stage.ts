// A gateway with one model behind an upstream of each format. Tests set the answers of the upstream and read the requests that it received.
import { get } from '../support/clients/calls.js';
import { eventually } from '../support/systems/process.js';
import { addModel, addUpstream } from '../support/stub-models.js';
import { type Mode, startSystem, type System } from '../support/systems/system.js';
import type { WireName } from '../upstream/answers/answers.js';
import type { Script } from '../upstream/script.js';
import { type RecordedRequest, startStubUpstream, type StubUpstream, stubApiKey } from '../upstream/stub-upstream.js';

/** The formats of the stage's upstreams, for `describe.each(upstreams)`. */
export const upstreams = ['chat-completions', 'messages'] as const;
/** All of them. */
export const allUpstreams: readonly Upstream[] = [...upstreams, 'responses'];
export type Upstream = WireName;

/** A response of `GET /v1/usage/:id`. */
export interface Charge {
  readonly tokens: Readonly<Record<'input' | 'cache_read' | 'cache_write_5m' | 'cache_write_1h' | 'output' | 'reasoning', number>>;
  readonly charge_usd: string;
  readonly usage_source: string;
  readonly outcome: string;
}

/** A gateway and the stub behind its models. */
export interface Stage {
  readonly system: System;
  readonly stub: StubUpstream;
  /** The account of the first key. */
  readonly accountId: string;
  /** The id of the model behind an upstream of this format. */
  model(upstream: Upstream): string;
  /** An alias of that model whose capabilities the libraries know, so that they send it requests that they send no other model. */
  alias(upstream: Upstream): string;
  /** Sets the answers of the upstream, in the order of calls. Returns the list of requests that it receives from now on. */
  play(upstream: Upstream, ...scripts: Script[]): () => RecordedRequest[];
  /** Returns what was charged for a call. */
  charge(requestId: string | null | undefined): Promise<Charge>;
  stop(): Promise<void>;
}

/** Starts both. */
export async function startStage(mode: Mode = 'single', env: Record<string, string> = {}): Promise<Stage> {
  const stub = await startStubUpstream();
  const system = await startSystem(mode, { OPENAI_API_KEY: stubApiKey, OPENAI_BASE_URL: stub.baseUrl, ...env });
  await addUpstream(system, 'messages', 'messages', stub.baseUrl, stubApiKey);
  await addUpstream(system, 'responses', 'responses', stub.baseUrl, stubApiKey);
  const alias = (upstream: Upstream): string => `${upstream}/claude-opus-5`;
  const able = { input_modalities: ['text', 'image', 'document'], capabilities: ['tools', 'reasoning', 'sampling', 'structured_output'] };
  await addModel(system, 'chat-completions/scripted', 'openai', 'chat-completions', { ...able, aliases: [alias('chat-completions')] });
  for (const upstream of ['messages', 'responses'] as const)
    await addModel(system, `${upstream}/scripted`, upstream, upstream, { ...able, aliases: [alias(upstream)] });
  const [account] = (await system.cli('account', 'list', '--json')).trim().split('\n');
  const model = (upstream: Upstream): string => `${upstream}/scripted`;
  await eventually(async () =>
    (await get(system, `/v1/models/${model('responses')}`, system.firstKey)).status === 200 ? true : undefined,
  );
  return {
    system,
    stub,
    accountId: (JSON.parse(account!) as { id: string }).id,
    model,
    alias,
    play(upstream, ...scripts) {
      const from = stub.requests.length;
      stub.script(upstream, ...scripts);
      return () => stub.requests.slice(from).filter(({ body }) => body['model'] === upstream);
    },
    charge: (requestId) =>
      eventually(async () => {
        const response = await get(system, `/v1/usage/${requestId}`, system.firstKey);
        if (response.status !== 200) throw new Error(`No usage of ${requestId}: ${response.status}.`);
        return (await response.json()) as Charge;
      }),
    async stop() {
      await system.stop();
      await stub.stop();
    },
  };
}

/** The first block of the first assistant's turn in a request to a messages upstream. */
export function firstThought({ body }: RecordedRequest): unknown {
  return (body['messages'] as { role: string; content: unknown[] }[]).find(({ role }) => role === 'assistant')?.content[0];
}
