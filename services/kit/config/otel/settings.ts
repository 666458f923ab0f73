// The variables of the OpenTelemetry specification that our own code reads
// (https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables).
import { ConfigError, flag, oneOf, optionalText, type Setting, type Settings, type Values } from '../settings.js';
import { addressOf, count, optionalCount, pairsOf, parsed } from './values.js';

const propagators = ['tracecontext', 'baggage'] as const;

/** A propagator that is supported. */
export type Propagator = (typeof propagators)[number];

const samplers = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

const protocols = ['http/protobuf', 'http/json'] as const;

/** Settings of telemetry. */
export const otelSettings = {
  otelDisabled: flag('OTEL_SDK_DISABLED', 'turn all telemetry off: nothing is sent, and no metrics are served', { default: false }),
  otelServiceName: optionalText('OTEL_SERVICE_NAME', 'service.name of all telemetry; if unset, tollgate-<process>'),
  otelResourceAttributes: parsed(
    'OTEL_RESOURCE_ATTRIBUTES',
    'attributes of the process for all telemetry: key=value,key=value, with "," and "=" percent-encoded in values',
    {},
    pairsOf,
    { show: (pairs) => Object.keys(pairs).join(',') },
  ),
  otelPropagators: parsed<readonly Propagator[]>(
    'OTEL_PROPAGATORS',
    'what the gateway reads from the headers of clients and sends to upstreams: tracecontext, baggage, both, or none',
    propagators,
    propagatorsOf,
    { show: (names) => names.join(',') },
  ),
  otelSampler: oneOf(
    'OTEL_TRACES_SAMPLER',
    'which traces are recorded; those that begin with parentbased_ follow the sampled flag of a client that sends a traceparent',
    samplers,
    { default: 'parentbased_always_on' },
  ),
  otelSamplerArg: parsed<number | undefined>(
    'OTEL_TRACES_SAMPLER_ARG',
    'share of the traces that a traceidratio sampler records, from 0 to 1; 1 if unset',
    undefined,
    ratioOf,
  ),
  otelSpanDelayMs: count('OTEL_BSP_SCHEDULE_DELAY', 'how often spans are sent, in milliseconds', 5000),
  otelSpanTimeoutMs: count('OTEL_BSP_EXPORT_TIMEOUT', 'how long sending spans may take, in milliseconds', 30_000),
  otelSpanQueueMax: count('OTEL_BSP_MAX_QUEUE_SIZE', 'spans that may wait to be sent; further ones are dropped', 2048),
  otelSpanBatchMax: count('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 'spans per message', 512),
  // The library applies no limit of 0.
  otelAttributeLengthMax: optionalCount(
    'OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    'characters per attribute of a span, if OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT is unset; no limit if both are unset',
    1,
  ),
  otelAttributesMax: count('OTEL_ATTRIBUTE_COUNT_LIMIT', 'attributes per span, if OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT is unset', 128, 0),
  otelSpanAttributeLengthMax: optionalCount(
    'OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    'characters per attribute of a span; OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT if unset',
    1,
  ),
  otelSpanAttributesMax: optionalCount('OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT', 'attributes per span; OTEL_ATTRIBUTE_COUNT_LIMIT if unset'),
  otelSpanEventsMax: count('OTEL_SPAN_EVENT_COUNT_LIMIT', 'events per span', 128, 0),
  otelSpanLinksMax: count('OTEL_SPAN_LINK_COUNT_LIMIT', 'links per span: the span of a batch names the calls that it carried', 1024, 0),
  otelTracesExporter: exporter('TRACES', 'whether traces are sent', 'otlp'),
  otelMetricsExporter: exporter('METRICS', 'whether metrics are sent', 'otlp'),
  otelLogsExporter: exporter('LOGS', 'whether log lines are sent, in addition to standard output', 'none'),
  otlpEndpoint: address(
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'base URL of an OTLP/HTTP receiver for traces, metrics and logs; if unset, none are sent',
  ),
  otlpTracesEndpoint: address('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'the whole URL for traces; if unset, /v1/traces of the base URL'),
  otlpMetricsEndpoint: address('OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'the whole URL for metrics; if unset, /v1/metrics of the base URL'),
  otlpLogsEndpoint: address('OTEL_EXPORTER_OTLP_LOGS_ENDPOINT', 'the whole URL for logs; if unset, /v1/logs of the base URL'),
  otlpProtocol: oneOf('OTEL_EXPORTER_OTLP_PROTOCOL', 'encoding of messages; grpc is not supported', protocols, {
    default: 'http/protobuf',
  }),
  otlpTracesProtocol: protocol('TRACES'),
  otlpMetricsProtocol: protocol('METRICS'),
  otlpLogsProtocol: protocol('LOGS'),
  otelLogDelayMs: count('OTEL_BLRP_SCHEDULE_DELAY', 'how often log lines are sent, in milliseconds', 1000),
  otelLogTimeoutMs: count('OTEL_BLRP_EXPORT_TIMEOUT', 'how long sending log lines may take, in milliseconds', 30_000),
  otelLogQueueMax: count(
    'OTEL_BLRP_MAX_QUEUE_SIZE',
    'log lines that may wait to be sent; further ones are only written to standard output',
    2048,
  ),
  otelLogBatchMax: count('OTEL_BLRP_MAX_EXPORT_BATCH_SIZE', 'log lines per message', 512),
  otelLogAttributesMax: count('OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT', 'attributes per log line', 128, 0),
  otelLogAttributeLengthMax: optionalCount(
    'OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT',
    'characters per attribute of a log line; no limit if unset',
    1,
  ),
} satisfies Settings;

/** The values of `otelSettings`. */
export type OtelConfig = Values<typeof otelSettings>;

/** What telemetry consists of. */
export type Signal = 'traces' | 'metrics' | 'logs';

/** Raises ConfigError when settings contradict each other. */
export function checkOtel(config: OtelConfig): void {
  const { otelSampler, otelSamplerArg, otelSpanBatchMax, otelSpanQueueMax, otelLogBatchMax, otelLogQueueMax } = config;
  const faults: string[] = [];
  if (otelSamplerArg !== undefined && !otelSampler.endsWith('traceidratio'))
    faults.push(
      `OTEL_TRACES_SAMPLER_ARG has no effect with OTEL_TRACES_SAMPLER=${otelSampler}; use parentbased_traceidratio, or remove it`,
    );
  if (otelSpanBatchMax > otelSpanQueueMax) faults.push('OTEL_BSP_MAX_EXPORT_BATCH_SIZE must not exceed OTEL_BSP_MAX_QUEUE_SIZE');
  if (otelLogBatchMax > otelLogQueueMax) faults.push('OTEL_BLRP_MAX_EXPORT_BATCH_SIZE must not exceed OTEL_BLRP_MAX_QUEUE_SIZE');
  if (faults.length > 0) throw new ConfigError(faults);
}

/** Returns where a signal is sent; undefined when it is not sent. */
export function otlpTargetOf(
  signal: Signal,
  config: OtelConfig,
): { readonly url: string; readonly protocol: (typeof protocols)[number] } | undefined {
  const { otelDisabled, otlpEndpoint, otlpProtocol } = config;
  const own = {
    traces: [config.otelTracesExporter, config.otlpTracesEndpoint, config.otlpTracesProtocol] as const,
    metrics: [config.otelMetricsExporter, config.otlpMetricsEndpoint, config.otlpMetricsProtocol] as const,
    logs: [config.otelLogsExporter, config.otlpLogsEndpoint, config.otlpLogsProtocol] as const,
  };
  const [exporterName, endpoint, ownProtocol] = own[signal];
  const url = endpoint ?? (otlpEndpoint === undefined ? undefined : `${otlpEndpoint.replace(/\/$/, '')}/v1/${signal}`);
  return otelDisabled || exporterName === 'none' || url === undefined ? undefined : { url, protocol: ownProtocol ?? otlpProtocol };
}

function exporter(signal: string, description: string, byDefault: 'otlp' | 'none'): Setting<'otlp' | 'none'> {
  return oneOf(`OTEL_${signal}_EXPORTER`, description, ['otlp', 'none'], { default: byDefault });
}

function address(env: string, description: string): Setting<string | undefined> {
  return parsed<string | undefined>(env, description, undefined, addressOf);
}

function protocol(signal: string): Setting<(typeof protocols)[number] | undefined> {
  const setting = oneOf(`OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`, `the same for ${signal.toLowerCase()} only`, protocols);
  return { ...setting, default: undefined };
}

function propagatorsOf(text: string): readonly Propagator[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.length === 1 && names[0] === 'none') return [];
  if (!names.every((name) => (propagators as readonly string[]).includes(name)))
    throw new Error(`must be none or a list of ${propagators.join(', ')}`);
  return [...new Set(names)] as Propagator[];
}

function ratioOf(text: string): number {
  const ratio = Number(text);
  if (!/^[\d.]+(e-?\d+)?$/i.test(text) || !(ratio >= 0 && ratio <= 1)) throw new Error('must be a number from 0 to 1');
  return ratio;
}
