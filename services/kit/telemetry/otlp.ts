// Exporters over OTLP/HTTP. Headers, timeouts, compression and certificates come from the OTEL_EXPORTER_OTLP_… environment.
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base';
import { convertLegacyHttpOptions, createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import {
  type IExporterMetricsHelper,
  type ISerializer,
  JsonLogsSerializer,
  JsonMetricsSerializer,
  JsonTraceSerializer,
  LogsExporterMetricsHelper,
  MetricsExporterMetricsHelper,
  ProtobufLogsSerializer,
  ProtobufMetricsSerializer,
  ProtobufTraceSerializer,
  TraceExporterMetricsHelper,
} from '@opentelemetry/otlp-transformer';
import type { LogRecordExporter } from '@opentelemetry/sdk-logs';
import type { PushMetricExporter } from '@opentelemetry/sdk-metrics';
import type { SpanExporter } from '@opentelemetry/sdk-trace';
import type { otlpTargetOf, Signal } from '../config/otel/settings.js';

/** Where a signal is sent. */
export type OtlpTarget = NonNullable<ReturnType<typeof otlpTargetOf>>;

/** Returns the exporter of spans. */
export function spanExporter(target: OtlpTarget): SpanExporter {
  return exporter(
    'traces',
    target,
    { 'http/json': JsonTraceSerializer, 'http/protobuf': ProtobufTraceSerializer },
    TraceExporterMetricsHelper,
  );
}

/** Returns the exporter of metrics, whose temporality is cumulative, as in Prometheus. */
export function metricExporter(target: OtlpTarget): PushMetricExporter {
  return exporter(
    'metrics',
    target,
    { 'http/json': JsonMetricsSerializer, 'http/protobuf': ProtobufMetricsSerializer },
    MetricsExporterMetricsHelper,
  );
}

/** Returns the exporter of log lines. */
export function logExporter(target: OtlpTarget): LogRecordExporter {
  return exporter('logs', target, { 'http/json': JsonLogsSerializer, 'http/protobuf': ProtobufLogsSerializer }, LogsExporterMetricsHelper);
}

const contentTypes = { 'http/json': 'application/json', 'http/protobuf': 'application/x-protobuf' } as const;

function exporter<Item, Response>(
  signal: Signal,
  { url, protocol }: OtlpTarget,
  serializers: Readonly<Record<OtlpTarget['protocol'], ISerializer<Item, Response>>>,
  helper: IExporterMetricsHelper<Item>,
): OTLPExporterBase<Item> {
  const http = convertLegacyHttpOptions({ url }, signal.toUpperCase(), `v1/${signal}`, { 'Content-Type': contentTypes[protocol] });
  return new OTLPExporterBase(createOtlpHttpExportDelegate(http, serializers[protocol], `otlp_http_${signal}_exporter`, helper, undefined));
}
