// Generates docs/metrics.md from the metrics that the code defines, so that the page is always up to date. Pure.
import type { Metric } from '#kit/telemetry/metrics.js';
import { prometheusName } from '#kit/telemetry/prometheus.js';

const sections: readonly { readonly by: string; readonly title: string; readonly text: string }[] = [
  { by: 'gateway', title: 'Gateway', text: 'Reported by each gateway: the single process and the gateway processes.' },
  {
    by: 'inference',
    title: 'Inference',
    text: 'Reported where upstreams are called: by the single process and the processes of inference.',
  },
  { by: 'ledger', title: 'Ledger', text: 'Reported by the single process and the processes of the ledger.' },
  { by: 'metering', title: 'Metering', text: 'Reported by the single process and the processes of metering.' },
  { by: 'auth', title: 'auth', text: 'Reported by the single process and the processes of auth.' },
  { by: 'services', title: 'Calls between services, and batches', text: 'Reported by every process that serves or calls a service.' },
  { by: 'database', title: 'Databases', text: 'Reported by every process that has a database, and by gateways that have Redis.' },
  { by: 'process', title: 'Processes', text: 'Reported by every process.' },
];

/** Returns the page as Markdown. */
export function metricsPage(metrics: readonly Metric[]): string {
  const parts = sections.map(({ by, title, text }) => {
    const rows = metrics
      .filter(({ definition }) => definition.by === by)
      .toSorted((one, other) => (one.definition.name < other.definition.name ? -1 : 1))
      .map(row);
    return `## ${title}\n\n${text}\n\n| Metric | Type | Labels | Description |\n|---|---|---|---|\n${rows.join('\n')}\n`;
  });
  return `${head}\n${parts.join('\n')}`;
}

const head = `# Metrics

Every process reports metrics. \`TOLLGATE_<PROCESS>_METRICS_LISTEN\` serves them to Prometheus at \`GET /metrics\`, and \`OTEL_EXPORTER_OTLP_ENDPOINT\` sends them
over OTLP/HTTP ([configuration](configuration.md#every-process)). [deploy/observability](../deploy/observability/README.md) has a scrape configuration, alerts and
dashboards; [service level objectives](slos.md) lists the objectives.

- Names are those of Prometheus. Over OTLP they have dots and no unit: \`http_server_request_duration_seconds\` is \`http.server.request.duration\` there. Metrics that
  OpenTelemetry's [semantic conventions](https://opentelemetry.io/docs/specs/semconv/) define have the names and labels defined there; those that begin with \`tollgate\` are ours.
- Labels never contain accounts, keys or calls. Each metric has at most 2,000 series per thread; further ones are counted together, with the label
  \`otel_metric_overflow="true"\`. Labels without a value are omitted, such as \`error_type\` of successful requests.
- The threads of a process are reported together: counters, histograms and most gauges as their sum, ages as the oldest, space as the smallest. Metrics of the runtime
  have the label \`thread\`.
- \`target_info\` has the resource attributes of the process: \`service_name\`, \`service_instance_id\`.
- Amounts of money are floating-point numbers of nano-USD (1e-9 USD), which are exact up to 9 million USD. Use them for graphs and alerts, not for bills.
- Exemplars are not exported, because OpenTelemetry's JavaScript SDK does not support them. The usage record of a call has its trace id.

This page is generated from the code (\`deploy/metrics-page.ts\`); a test fails when it is out of date.
`;

function row({ definition, kind }: Metric): string {
  const { description, labels = {} } = definition;
  const texts = Object.entries(labels).map(([name, text]) => `\`${name.replaceAll('.', '_')}\`: ${String(text)}`);
  return `| \`${prometheusName(definition, kind)}\` | ${kind} | ${texts.join('; ')} | ${description} |`;
}
