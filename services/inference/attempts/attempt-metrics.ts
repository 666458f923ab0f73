// The metrics of attempts at upstreams, with the names of the GenAI conventions.
import type { Clock } from '#kit/clock.js';
import { histogram } from '#kit/telemetry/metrics.js';
import { toAppError } from '#client/errors/app-error.js';
import type { GenerateRequest, GenerateResponse } from '#proto/inference/v1/inference.js';
import { totalInput } from '../tokens/usage-report.js';
import type { ResolvedTarget } from '../upstreams/registry.js';
import { attribute, operationOf } from './semconv.js';

const by = 'inference';
const attempted = {
  [attribute.operationName]: 'chat or embeddings',
  [attribute.providerName]: 'The vendor, by its name in the conventions.',
  [attribute.requestModel]: "The vendor's name for the model.",
  upstream: 'The id of the upstream.',
};
const seconds = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68];
const operationDuration = histogram(
  {
    name: 'gen_ai.client.operation.duration',
    unit: 's',
    description: 'Duration of attempts at upstreams, to their end or failure.',
    by,
    labels: { ...attempted, [attribute.errorType]: 'Why it failed; cancelled if the call ended first.' },
  },
  seconds,
);
const timeToFirstChunk = histogram(
  {
    name: 'gen_ai.client.operation.time_to_first_chunk',
    unit: 's',
    description: 'Time until the first event of an answer arrived from an upstream.',
    by,
    labels: attempted,
  },
  seconds,
);
const tokenUsage = histogram(
  {
    name: 'gen_ai.client.token.usage',
    unit: '{token}',
    description: 'Tokens of answers that ended.',
    by,
    labels: { ...attempted, 'gen_ai.token.type': 'input (with cached tokens) or output (with reasoning)' },
  },
  [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304],
);

/** Measures one attempt. */
export class AttemptMetrics {
  readonly #labels: Readonly<Record<keyof typeof attempted, string>>;
  readonly #beganAtMs: number;
  #hasBegun = false;
  /** Empty for success. Before the attempt finishes or fails, its end means that the consumer disconnected. */
  #errorType = 'cancelled';

  constructor(
    { target, upstream }: ResolvedTarget,
    request: GenerateRequest,
    private readonly clock: Clock,
  ) {
    this.#labels = {
      [attribute.operationName]: operationOf(request),
      [attribute.providerName]: upstream.providerName,
      [attribute.requestModel]: target.upstreamModel,
      upstream: upstream.id,
    };
    this.#beganAtMs = clock.monotonicMs();
  }

  /** Notes a message on its way to the consumer. */
  observe({ accepted, events }: GenerateResponse): void {
    if (!this.#hasBegun && accepted === undefined) {
      this.#hasBegun = true;
      timeToFirstChunk.of(this.#labels).record(this.#seconds());
    }
    const last = events.at(-1)?.event;
    if (last?.$case !== 'finished') return;
    this.#errorType = '';
    const { usage } = last.value;
    if (usage === undefined) return;
    tokenUsage.of({ ...this.#labels, 'gen_ai.token.type': 'input' }).record(totalInput(usage));
    tokenUsage.of({ ...this.#labels, 'gen_ai.token.type': 'output' }).record(usage.outputTokens);
  }

  /** Notes that the attempt failed. */
  fail(error: unknown): void {
    this.#errorType = toAppError(error).reason;
  }

  /** Records the duration of the attempt, which has ended. */
  end(): void {
    operationDuration.of({ ...this.#labels, [attribute.errorType]: this.#errorType }).record(this.#seconds());
  }

  #seconds(): number {
    return (this.clock.monotonicMs() - this.#beganAtMs) / 1000;
  }
}
