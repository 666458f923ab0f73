// A receiver of OTLP/HTTP traces and metrics in JSON, for tests. https://opentelemetry.io/docs/specs/otlp/#otlphttp
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received span. */
export interface ReceivedSpan {
  readonly service: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty for a root span. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly startNano: bigint;
  readonly endNano: bigint;
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
  readonly spans: ReceivedSpan[];
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
        startTimeUnixNano: string;
        endTimeUnixNano: string;
        attributes: KeyValue[];
      }[];
    }[];
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

const valuesOf = (attributes: KeyValue[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));

/** Starts a receiver on a free loopback port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const latest = new Map<string, ReceivedSeries>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/metrics') {
        for (const each of seriesOf(JSON.parse(Buffer.concat(chunks).toString()) as MetricsRequest)) {
          latest.set(JSON.stringify([each.service, each.instance, each.name, each.attributes]), each);
        }
        response.setHeader('content-type', 'application/json').end('{}');
        return;
      }
      const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as ExportRequest;
      for (const { resource, scopeSpans } of resourceSpans) {
        const service = String(valuesOf(resource.attributes)['service.name']);
        for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
          spans.push({
            service,
            traceId: span.traceId,
            spanId: span.spanId,
            parentSpanId: span.parentSpanId ?? '',
            name: span.name,
            startNano: BigInt(span.startTimeUnixNano),
            endNano: BigInt(span.endTimeUnixNano),
            attributes: valuesOf(span.attributes),
          });
        }
      }
      response.setHeader('content-type', 'application/json').end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    series: () => [...latest.values()],
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
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
