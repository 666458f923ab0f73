// Sends log lines over OTLP, when OTEL_LOGS_EXPORTER is otlp, in addition to standard output. Lines are sent as they are after redaction.
import { ROOT_CONTEXT, trace, TraceFlags } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs';
import { forwardLines, type LogLevel } from '../log.js';
import type { OtelConfig } from '../config/otel/settings.js';
import { logExporter, type OtlpTarget } from './otlp.js';
import type { Telemetry } from './sdk.js';

/** The severity numbers of https://opentelemetry.io/docs/specs/otel/logs/data-model/#field-severitynumber. */
const severities: Readonly<Record<LogLevel, number>> = { trace: 1, debug: 5, info: 9, warn: 13, error: 17, fatal: 21, silent: 0 };

/** The fields of a line; some are only in lines about errors. */
interface Line {
  readonly level: LogLevel;
  readonly time: string;
  readonly msg?: string;
  readonly trace_id?: string;
  readonly span_id?: string;
  readonly err?: { readonly type?: string; readonly message?: string; readonly stack?: string };
  /** Set when the line reports a failure of telemetry itself. */
  readonly telemetry?: string;
}

/** Starts to send the lines of this thread. */
export function startLogs(target: OtlpTarget, otel: OtelConfig, resource: Resource): Telemetry {
  const provider = new LoggerProvider({
    resource,
    logRecordLimits: {
      attributeCountLimit: otel.otelLogAttributesMax,
      ...(otel.otelLogAttributeLengthMax === undefined ? {} : { attributeValueLengthLimit: otel.otelLogAttributeLengthMax }),
    },
    processors: [
      new BatchLogRecordProcessor({
        exporter: logExporter(target),
        scheduledDelayMillis: otel.otelLogDelayMs,
        exportTimeoutMillis: otel.otelLogTimeoutMs,
        maxQueueSize: otel.otelLogQueueMax,
        maxExportBatchSize: otel.otelLogBatchMax,
      }),
    ],
  });
  const logger = provider.getLogger('tollgate');
  const stop = forwardLines((text) => {
    const { level, time, msg, trace_id: traceId, span_id: spanId, err, telemetry, ...attributes } = JSON.parse(text) as Line;
    // An unavailable receiver must not cause a log line for each line that it misses.
    if (telemetry !== undefined) return;
    logger.emit({
      timestamp: new Date(time),
      severityNumber: severities[level],
      severityText: level.toUpperCase(),
      body: msg ?? '',
      attributes: { ...withoutProcess(attributes), ...exceptionOf(err) },
      context:
        traceId === undefined || spanId === undefined
          ? ROOT_CONTEXT
          : trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: TraceFlags.NONE }),
    });
  });
  return {
    async stop() {
      stop();
      await provider.shutdown();
    },
  };
}

/** Returns the fields without those that the resource has. */
function withoutProcess(fields: object): Record<string, string> {
  const { name: _name, pid: _pid, hostname: _hostname, ...rest } = fields as Record<string, string>;
  return rest;
}

function exceptionOf(err: Line['err']): Record<string, string> {
  if (err === undefined) return {};
  return {
    ...(err.type === undefined ? {} : { 'exception.type': err.type }),
    ...(err.message === undefined ? {} : { 'exception.message': err.message }),
    ...(err.stack === undefined ? {} : { 'exception.stacktrace': err.stack }),
  };
}
