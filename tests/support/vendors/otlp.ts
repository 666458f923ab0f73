// A receiver of OTLP/HTTP traces, metrics and logs in JSON, for tests. https://opentelemetry.io/docs/specs/otlp/#otlphttp
import { createServer } from 'node:http';
import { close, listen } from '#kit/testing/local-server.js';

/** A received span. */
export interface ReceivedSpan {
  readonly service: string;
  /** The attributes of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startNano: bigint;
  readonly endNano: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
  readonly events: readonly ReceivedEvent[];
  /** The ids of the spans that it is linked to. */
  readonly links: readonly string[];
}

/** The kind of a span. */
export type SpanKind = 'internal' | 'server' | 'client';

/** An event of a span. */
export interface ReceivedEvent {
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A received log line. */
export interface ReceivedLine {
  readonly service: string;
  readonly severity: string;
  readonly message: string;
  readonly traceId: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The latest value of one series of a metric. */
export interface ReceivedSeries {
  readonly service: string;
  /** The replica or thread. */
  readonly instance: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** For a histogram, the number of recorded values. */
  readonly value: number;
}

/** A running receiver. */
export interface OtlpReceiver {
  readonly endpoint: string;
  /** The settings with which a Tollgate sends to it. */
  readonly env: Record<string, string>;
  readonly spans: ReceivedSpan[];
  readonly lines: ReceivedLine[];
  /** Returns the latest value of each series. */
  series(): ReceivedSeries[];
  stop(): Promise<void>;
}

interface KeyValue {
  key: string;
  value: Record<string, unknown>;
}

interface ExportRequest {
  resourceSpans: {
    resource: { attributes: KeyValue[] };
    scopeSpans: {
      spans: {
        traceId: string;
        spanId: string;
        parentSpanId?: string;
        name: string;
        kind: number;
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: KeyValue[];
        status?: { code?: number };
        events?: { name: string; attributes: KeyValue[] }[];
        links?: { spanId: string }[];
      }[];
    }[];
  }[];
}

interface LogsRequest {
  resourceLogs: {
    resource: { attributes: KeyValue[] };
    scopeLogs: { logRecords: { severityText: string; body: Record<string, unknown>; traceId?: string; attributes: KeyValue[] }[] }[];
  }[];
}

interface MetricsRequest {
  resourceMetrics: {
    resource: { attributes: KeyValue[] };
    scopeMetrics: { metrics: ({ name: string } & Partial<Record<'sum' | 'gauge' | 'histogram', { dataPoints: DataPoint[] }>>)[] }[];
  }[];
}

interface DataPoint {
  attributes: KeyValue[];
  asInt?: string | number;
  asDouble?: number;
  count?: string | number;
}

const kinds: readonly SpanKind[] = ['internal', 'internal', 'server', 'client'];

// The collector leaves empty lists out.
const valuesOf = (attributes: KeyValue[] = []): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Starts a receiver on a free loopback port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const lines: ReceivedLine[] = [];
  const latest = new Map<string, ReceivedSeries>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const received: unknown = JSON.parse(Buffer.concat(chunks).toString());
      if (request.url === '/v1/metrics') {
        for (const each of seriesOf(received as MetricsRequest)) {
          latest.set(JSON.stringify([each.service, each.instance, each.name, each.attributes]), each);
        }
      } else if (request.url === '/v1/logs') lines.push(...linesOf(received as LogsRequest));
      else spans.push(...spansOf(received as ExportRequest));
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  const endpoint = `http://127.0.0.1:${await listen(server)}`;
  return {
    endpoint,
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json', OTEL_BSP_SCHEDULE_DELAY: '200' },
    spans,
    lines,
    series: () => [...latest.values()],
    stop: () => close(server),
  };
}

function spansOf({ resourceSpans }: ExportRequest): ReceivedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const ofResource = valuesOf(resource.attributes);
    return scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        service: String(ofResource['service.name']),
        resource: ofResource,
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId ?? '',
        name: span.name,
        kind: kinds[span.kind] ?? 'internal',
        startNano: BigInt(span.startTimeUnixNano),
        endNano: BigInt(span.endTimeUnixNano),
        attributes: valuesOf(span.attributes),
        isError: span.status?.code === 2,
        events: (span.events ?? []).map(({ name, attributes }) => ({ name, attributes: valuesOf(attributes) })),
        links: (span.links ?? []).map(({ spanId }) => spanId),
      })),
    );
  });
}

function linesOf({ resourceLogs }: LogsRequest): ReceivedLine[] {
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(({ severityText, body, traceId, attributes }) => ({
        service: String(valuesOf(resource.attributes)['service.name']),
        severity: severityText,
        message: String(Object.values(body)[0]),
        traceId: traceId ?? '',
        attributes: valuesOf(attributes),
      })),
    ),
  );
}

function seriesOf({ resourceMetrics }: MetricsRequest): ReceivedSeries[] {
  return resourceMetrics.flatMap(({ resource, scopeMetrics }) => {
    const { 'service.name': service, 'service.instance.id': instance } = valuesOf(resource.attributes);
    return scopeMetrics.flatMap(({ metrics }) =>
      metrics.flatMap(({ name, sum, gauge, histogram }) =>
        ((sum ?? gauge ?? histogram)?.dataPoints ?? []).map(({ attributes, asInt, asDouble, count }) => ({
          service: String(service),
          instance: String(instance),
          name,
          attributes: valuesOf(attributes),
          value: Number(asInt ?? asDouble ?? count),
        })),
      ),
    );
  });
}

/** Returns the spans of one trace as an indented tree, with children in the order of their start. */
export function spanTree(spans: readonly ReceivedSpan[]): string {
  const known = new Set(spans.map((span) => span.spanId));
  const lines: string[] = [];
  const add = (span: ReceivedSpan, depth: number): void => {
    const ms = Number(span.endNano - span.startNano) / 1e6;
    lines.push(`${'  '.repeat(depth)}${span.name}  [${span.service}]  ${ms.toFixed(1)} ms`);
    for (const child of spans.filter((each) => each.parentSpanId === span.spanId).sort((a, b) => Number(a.startNano - b.startNano)))
      add(child, depth + 1);
  };
  for (const root of spans.filter((span) => !known.has(span.parentSpanId))) add(root, 0);
  return lines.join('\n');
}
