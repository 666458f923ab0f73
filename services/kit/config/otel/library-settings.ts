// Checks the variables of the OpenTelemetry specification that our code does not read: those that OpenTelemetry's libraries read by themselves, which
// replace an invalid value with a default, and those that nothing reads. So no variable of the specification is silently ignored.
import { fileOf } from '../forms.js';
import { oneOf, type Setting, type Settings } from '../settings.js';
import { count, pairsOf, parsed, refused } from './values.js';

type Kind = (env: string, description: string) => Setting<unknown>;

/** Returns the setting for the exporters of all signals, and the setting for each of them. */
function perSignal(name: string, description: string, kind: Kind): Setting<unknown>[] {
  const each = ['TRACES', 'METRICS', 'LOGS'].map((signal) =>
    kind(`OTEL_EXPORTER_OTLP_${signal}_${name}`, `the same for ${signal.toLowerCase()} only`),
  );
  return [kind(`OTEL_EXPORTER_OTLP_${name}`, description), ...each];
}

const file: Kind = (env, description) => parsed<string | undefined>(env, description, undefined, fileOf);
const headers: Kind = (env, description) =>
  parsed<Readonly<Record<string, string>> | undefined>(env, description, undefined, pairsOf, { secret: true });
const compression: Kind = (env, description) => ({ ...oneOf(env, description, ['gzip', 'none']), default: undefined });
const timeout: Kind = (env, description) => ({ ...count(env, description, 1), default: undefined });

const settings = [
  ...perSignal('HEADERS', 'headers of every message to the receiver, as key=value,key=value', headers),
  ...perSignal('TIMEOUT', 'how long sending a message may take, in milliseconds; 10000 if unset', timeout),
  ...perSignal('COMPRESSION', 'compression of messages; none if unset', compression),
  ...perSignal('CERTIFICATE', "PEM file of the authorities with which the receiver's certificate is verified", file),
  ...perSignal('CLIENT_CERTIFICATE', 'PEM file of the certificate that is presented to the receiver', file),
  ...perSignal('CLIENT_KEY', 'PEM file of the key of that certificate', file),
  refused('OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT', 'events have at most 128 attributes'),
  refused('OTEL_LINK_ATTRIBUTE_COUNT_LIMIT', 'links have at most 128 attributes'),
  refused('OTEL_LOG_LEVEL', 'the errors of telemetry are in the log of the process, whose level is TOLLGATE_LOG_LEVEL'),
  ...perSignal('INSECURE', '', (env) => refused(env, 'the address of the receiver begins with http:// or https://')),
  refused('OTEL_METRIC_EXPORT_TIMEOUT', 'sending metrics may take as long as their interval, and at most 10 seconds'),
  refused('OTEL_METRICS_EXEMPLAR_FILTER', 'metrics have no exemplars'),
  refused('OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'all metrics are cumulative'),
  refused('OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION', 'histograms have explicit buckets'),
  refused('OTEL_EXPORTER_PROMETHEUS_HOST', 'set TOLLGATE_<PROCESS>_METRICS_LISTEN'),
  refused('OTEL_EXPORTER_PROMETHEUS_PORT', 'set TOLLGATE_<PROCESS>_METRICS_LISTEN'),
  refused('OTEL_EXPORTER_ZIPKIN_ENDPOINT', 'send to a collector, which can forward to Zipkin'),
  refused('OTEL_EXPORTER_ZIPKIN_TIMEOUT', 'send to a collector, which can forward to Zipkin'),
  refused('OTEL_EXPORTER_JAEGER_ENDPOINT', 'Jaeger accepts OTLP; set OTEL_EXPORTER_OTLP_ENDPOINT'),
  refused('OTEL_CONFIG_FILE', 'set the variables themselves'),
  refused('OTEL_EXPERIMENTAL_CONFIG_FILE', 'set the variables themselves'),
];

/** Settings by their variable. */
export const otelLibrarySettings: Settings = Object.fromEntries(settings.map((setting) => [setting.env, setting]));
