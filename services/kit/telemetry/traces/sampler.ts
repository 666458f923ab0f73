// Decides which traces are recorded, as OTEL_TRACES_SAMPLER configures.
import { type Attributes, type Context, type Link, type SpanKind, TraceFlags } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  SamplingDecision,
  type SamplingResult,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace';
import type { OtelConfig } from '../../config/otel/settings.js';

/** Returns the configured sampler. The span of a batch is recorded whenever one of its calls is, whatever that sampler decides. */
export function samplerOf({ otelSampler, otelSamplerArg }: Pick<OtelConfig, 'otelSampler' | 'otelSamplerArg'>): Sampler {
  const [name, isParentBased] = [otelSampler.replace('parentbased_', ''), otelSampler.startsWith('parentbased_')];
  const root = rootSampler(name as 'always_on', otelSamplerArg ?? 1);
  // Within a process, every span follows the first one: the id of a batch's trace says nothing about whether it is recorded.
  const ofClients = isParentBased ? {} : { remoteParentSampled: root, remoteParentNotSampled: root };
  return new LinkedSampler(new ParentBasedSampler({ root, ...ofClients }));
}

function rootSampler(name: 'always_on' | 'always_off' | 'traceidratio', ratio: number): Sampler {
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio);
  return name === 'always_on' ? new AlwaysOnSampler() : new AlwaysOffSampler();
}

/** Records a span that is linked to a recorded one. */
class LinkedSampler implements Sampler {
  constructor(private readonly others: Sampler) {}

  shouldSample(context: Context, traceId: string, name: string, kind: SpanKind, attributes: Attributes, links: Link[]): SamplingResult {
    if (links.some((link) => (link.context.traceFlags & TraceFlags.SAMPLED) !== 0))
      return { decision: SamplingDecision.RECORD_AND_SAMPLED };
    return this.others.shouldSample(context, traceId, name, kind, attributes, links);
  }

  toString(): string {
    return `Linked{${this.others.toString()}}`;
  }
}
