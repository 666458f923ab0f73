// The dashboards, which the build writes to dist/grafana. A panel about faults shows 0 while there are none (`or vector(0)`), so that "no data" always means
// that something is not scraped.
import { type Dashboard, graph, type Query, values } from './panels.ts';

const callRoutes = 'http_route=~".*/(chat/completions|messages|responses|embeddings)"';
const on = 'instance=~"$instance"';

/** The rate of a counter per second, by labels. */
function rate(metric: string, by = '', selector = ''): string {
  const of = `sum${by === '' ? '' : ` by (${by})`} (rate(${metric}{${[on, selector].filter((each) => each !== '').join(', ')}}[$__rate_interval]))`;
  return by === '' ? `${of} or vector(0)` : of;
}

/** The labels as a legend. */
const legendOf = (labels: string): string => `{{${labels.replaceAll(', ', '}} {{')}}}`;

/** The rates of a counter by labels, which are the legend. */
const rates = (metric: string, by: string, selector = ''): Query => [rate(metric, by, selector), legendOf(by)];

/** The rates of a counter of faults, whose series do not exist before the first one. */
const faults = (metric: string, by: string, selector = ''): Query => [`${rate(metric, by, selector)} or vector(0)`, legendOf(by)];

/** The charged USD per hour, by labels. */
const usdPerHour = (by: string): Query => [`3600e-9 * ${rate('tollgate_charged_nano_usd_total', by)}`, legendOf(by)];

/** An aggregate of gauges by labels, which are the legend. */
const gauges = (aggregate: 'sum' | 'min' | 'max', by: string, expr: string): Query => [`${aggregate} by (${by}) (${expr})`, legendOf(by)];

/** The 50th and the 99th percentile of a histogram, by labels. */
function quantiles(metric: string, by = '', selector = ''): readonly Query[] {
  const legend = by === '' ? '' : ` ${legendOf(by)}`;
  return [0.5, 0.99].map((quantile) => {
    const labels = ['le', ...(by === '' ? [] : [by])].join(', ');
    const matchers = [on, selector].filter((each) => each !== '').join(', ');
    return [
      `histogram_quantile(${quantile}, sum by (${labels}) (rate(${metric}_bucket{${matchers}}[$__rate_interval])))`,
      `p${quantile * 100}${legend}`,
    ];
  });
}

const overview: Dashboard = {
  uid: 'overview',
  title: 'Overview',
  rows: [
    {
      title: 'Now',
      panels: [
        values('Calls', 'reqps', [rate('http_server_request_duration_seconds_count', '', callRoutes), 'calls']),
        values('Error ratio, 1 h', 'percentunit', ['tollgate:call_errors:ratio_rate1h', 'errors'], {
          description: 'Share of calls answered with a 5xx status. The objective is 0.1 % over 30 days.',
          redFrom: 0.001,
        }),
        values('Slow ratio, 1 h', 'percentunit', ['tollgate:call_added_slow:ratio_rate1h', 'slow'], {
          description: 'Share of calls to which Tollgate added more than 100 ms. The objective is 1 % over 30 days.',
          redFrom: 0.01,
        }),
        values('Calls in flight', 'short', [`sum(tollgate_gateway_calls{${on}})`, 'calls']),
        values('Drifts', 'short', ['sum(max by (check) (tollgate_reconcile_drift))', 'drifts'], {
          description: 'Disagreements between records, ledger and catalog.',
          redFrom: 1,
        }),
        values('Processes down', 'short', ['count(up{job="tollgate"} == 0) or vector(0)', 'down'], { redFrom: 1 }),
      ],
    },
    {
      title: 'Traffic',
      panels: [
        graph('Requests by status', 'reqps', [rates('http_server_request_duration_seconds_count', 'http_response_status_code')]),
        graph('Calls by outcome', 'reqps', [rates('tollgate_calls_total', 'outcome')]),
        graph('Refused calls by reason', 'reqps', [faults('tollgate_calls_refused_total', 'reason')]),
        graph('Latency that Tollgate adds', 's', quantiles('tollgate_call_added_duration_seconds')),
        graph('Duration of calls', 's', quantiles('gen_ai_server_request_duration_seconds')),
        graph('Charges', 'currencyUSD', [[`3600e-9 * (${rate('tollgate_charged_nano_usd_total')})`, 'USD per hour']], 'USD per hour.'),
      ],
    },
    {
      title: 'Parts',
      panels: [
        graph(
          'Gateways that can serve calls',
          'short',
          [gauges('min', 'instance, part', `tollgate_gateway_ready{${on}}`)],
          '0: the part is missing.',
        ),
        graph('Age of local copies', 's', [gauges('max', 'instance, replica', `tollgate_replica_age_seconds{${on}}`)]),
        graph('Versions', 'short', [['count by (version) (tollgate_build_info)', '{{version}}']]),
      ],
    },
  ],
};

const calls: Dashboard = {
  uid: 'calls',
  title: 'Calls by model',
  rows: [
    {
      title: 'Calls',
      panels: [
        graph('Calls by model', 'reqps', [rates('tollgate_calls_total', 'model')]),
        graph('Calls by model and outcome', 'reqps', [rates('tollgate_calls_total', 'model, outcome')]),
        graph('Duration by model', 's', quantiles('gen_ai_server_request_duration_seconds', 'gen_ai_request_model')),
      ],
    },
    {
      title: 'Streams',
      panels: [
        graph('Time to the first token', 's', quantiles('gen_ai_server_time_to_first_token_seconds', 'gen_ai_request_model')),
        graph('Time per output token', 's', quantiles('gen_ai_server_time_per_output_token_seconds', 'gen_ai_request_model')),
        graph('Output tokens per second', 'short', [rates('tollgate_tokens_total', 'model', 'type="output"')]),
      ],
    },
    {
      title: 'Tokens and prices',
      panels: [
        graph('Tokens by type', 'short', [rates('tollgate_tokens_total', 'type')]),
        graph('Input read from prompt caches', 'percentunit', [
          [
            `(${rate('tollgate_tokens_total', '', 'type="cache_read"')}) / sum(rate(tollgate_tokens_total{${on}, type!="output"}[$__rate_interval]))`,
            'of all input',
          ],
        ]),
        graph('Charges by model', 'currencyUSD', [usdPerHour('model')], 'USD per hour.'),
      ],
    },
    {
      title: 'Limits and repeats',
      panels: [
        graph('Refused by rate limits', 'reqps', [faults('tollgate_gateway_rate_limited_total', 'scope, limit')]),
        graph('Repeats answered from storage', 'reqps', [[rate('tollgate_calls_replayed_total'), 'repeats']]),
        graph('Logged prompts and answers', 'reqps', [rates('tollgate_prompt_logs_total', 'result')]),
        graph('Key lookups', 'reqps', [rates('tollgate_keys_lookups_total', 'result')]),
      ],
    },
  ],
};

const upstreams: Dashboard = {
  uid: 'upstreams',
  title: 'Upstreams',
  rows: [
    {
      title: 'Attempts',
      panels: [
        graph('Attempts', 'reqps', [rates('gen_ai_client_operation_duration_seconds_count', 'upstream')]),
        graph('Failed attempts by reason', 'reqps', [faults('tollgate_upstream_failures_total', 'upstream, reason')]),
        graph('Retries', 'reqps', [faults('tollgate_upstream_retries_total', 'upstream, result')]),
      ],
    },
    {
      title: 'Latency',
      panels: [
        graph('Duration', 's', quantiles('gen_ai_client_operation_duration_seconds', 'upstream')),
        graph('Time to the first event', 's', quantiles('gen_ai_client_operation_time_to_first_chunk_seconds', 'upstream')),
        graph('Slow answers', 'reqps', [faults('tollgate_upstream_slow_answers_total', 'upstream')]),
      ],
    },
    {
      title: 'Health',
      panels: [
        graph('Targets by state', 'short', [gauges('sum', 'upstream, state', `tollgate_upstream_targets{${on}}`)]),
        graph(
          'Credentials by state',
          'short',
          [[`sum by (upstream, state) (tollgate_upstream_credentials{${on}}) or vector(0)`, '{{upstream}} {{state}}']],
          'Of upstreams with several.',
        ),
        graph('Ejections', 'short', [faults('tollgate_upstream_ejections_total', 'upstream')]),
        graph("Waits for a vendor's allowance", 'reqps', [faults('tollgate_upstream_paced_total', 'upstream, result')]),
      ],
    },
    {
      title: 'Tokens',
      panels: [
        graph('Tokens by upstream', 'short', [rates('gen_ai_client_token_usage_sum', 'upstream, gen_ai_token_type')]),
        graph('Charges by upstream', 'currencyUSD', [usdPerHour('upstream')], 'USD per hour.'),
        graph('Calls with implausible usage', 'reqps', [[rate('tollgate_calls_quarantined_total'), 'quarantined']]),
      ],
    },
  ],
};

const money: Dashboard = {
  uid: 'money',
  title: 'Money',
  rows: [
    {
      title: 'The bill',
      panels: [
        graph('Drifts by check', 'short', [gauges('max', 'check', 'tollgate_reconcile_drift')]),
        graph('Time since the last comparison', 's', [gauges('min', 'run', 'tollgate_reconcile_last_run_age_seconds')]),
        graph(
          'Shortfall',
          'currencyUSD',
          [[`3600e-9 * (${rate('tollgate_shortfall_nano_usd_total')})`, 'USD per hour']],
          'USD per hour that could not be charged.',
        ),
      ],
    },
    {
      title: 'Holds',
      panels: [
        graph('Decisions about holds', 'reqps', [rates('tollgate_holds_total', 'result')]),
        graph('Open holds', 'short', [
          ['max(tollgate_holds_open)', 'open'],
          ['max(tollgate_holds_past_expiry)', 'past their expiry'],
        ]),
        graph('Time for a durable hold and a durable record', 's', quantiles('tollgate_call_phase_duration_seconds', 'phase')),
      ],
    },
    {
      title: 'Settlement',
      panels: [
        graph('Settlement lag', 's', quantiles('tollgate_settlement_lag_seconds')),
        graph('Charges waiting for the ledger', 'short', [
          ['max(tollgate_outbox_pending)', 'waiting'],
          ['max(tollgate_outbox_failed)', 'refused permanently'],
        ]),
        graph('Age of the oldest charge that waits', 's', [['max(tollgate_outbox_oldest_age_seconds)', 'age']]),
      ],
    },
    {
      title: 'Spool',
      panels: [
        graph('Calls in the spool', 'short', [
          [`sum by (instance) (tollgate_spool_waiting{${on}})`, '{{instance}} waiting'],
          [`sum by (instance) (tollgate_spool_refused{${on}} + tollgate_spool_damaged_files)`, '{{instance}} set aside'],
        ]),
        graph('Size of the spool', 'bytes', [gauges('sum', 'instance', `tollgate_spool_size_bytes{${on}}`)]),
        graph('Age of the oldest call in the spool', 's', [gauges('max', 'instance', `tollgate_spool_oldest_age_seconds{${on}}`)]),
      ],
    },
  ],
};

const databases: Dashboard = {
  uid: 'databases',
  title: 'Databases',
  rows: [
    {
      title: 'Statements',
      panels: [
        graph('Statements by operation', 'reqps', [rates('db_client_operation_duration_seconds_count', 'db_operation_name')]),
        graph('Duration by operation', 's', quantiles('db_client_operation_duration_seconds', 'db_operation_name')),
        graph('Failed statements', 'reqps', [faults('db_client_operation_duration_seconds_count', 'error_type', 'error_type!=""')]),
        graph(
          'Time by table',
          'short',
          [[`topk(10, ${rate('db_client_operation_duration_seconds_sum', 'db_collection_name')})`, '{{db_collection_name}}']],
          'Seconds of statements per second.',
        ),
        graph('Disk syncs of SQLite', 's', quantiles('tollgate_wal_sync_duration_seconds')),
        graph('Items per transaction', 'short', quantiles('tollgate_batch_size', 'lane')),
      ],
    },
    {
      title: 'Connections and queues',
      panels: [
        graph('Connections', 'short', [
          gauges('sum', 'db_client_connection_pool_name, db_client_connection_state', `db_client_connection_count{${on}}`),
        ]),
        graph('Requests waiting for a connection', 'short', [
          gauges('sum', 'db_client_connection_pool_name', `db_client_connection_pending_requests{${on}}`),
        ]),
        graph(
          'Time until a connection is free',
          's',
          quantiles('db_client_connection_wait_time_seconds', 'db_client_connection_pool_name'),
        ),
        graph('Items waiting for a transaction', 'short', [gauges('sum', 'lane', `tollgate_batch_queue{${on}}`)]),
      ],
    },
  ],
};

const processes: Dashboard = {
  uid: 'processes',
  title: 'Processes',
  rows: [
    {
      title: 'Processes',
      panels: [
        graph('CPU', 'short', [rates('process_cpu_time_seconds_total', 'instance')], 'Busy cores.'),
        graph('Memory', 'bytes', [gauges('sum', 'instance', `process_memory_usage_bytes{${on}}`)]),
        graph('Open files and threads', 'short', [
          [`sum by (instance) (process_open_file_descriptor_count{${on}})`, '{{instance}} files'],
          [`sum by (instance) (process_thread_count{${on}})`, '{{instance}} threads'],
        ]),
      ],
    },
    {
      title: 'Threads',
      panels: [
        graph('Utilization of event loops', 'percentunit', [
          gauges('max', 'instance, thread', `nodejs_eventloop_utilization_ratio{${on}}`),
        ]),
        graph('Delay of event loops, p99', 's', [gauges('max', 'instance, thread', `nodejs_eventloop_delay_p99_seconds{${on}}`)]),
        graph('Time in garbage collections', 'percentunit', [rates('v8js_gc_duration_seconds_sum', 'instance, thread')]),
        graph('Used share of the heap', 'percentunit', [
          gauges('max', 'instance, thread', `v8js_memory_heap_used_bytes{${on}} / v8js_memory_heap_limit_bytes`),
        ]),
      ],
    },
    {
      title: 'Calls between services',
      panels: [
        graph('RPCs served', 'reqps', [[`topk(12, ${rate('rpc_server_call_duration_seconds_count', 'rpc_method')})`, '{{rpc_method}}']]),
        graph('RPCs that failed', 'reqps', [
          faults('rpc_server_call_duration_seconds_count', 'rpc_method, rpc_response_status_code', 'rpc_response_status_code!="OK"'),
        ]),
        graph(
          'Duration of holds and records',
          's',
          quantiles('rpc_server_call_duration_seconds', 'rpc_method', 'rpc_method=~".*/(Hold|RecordUsage)"'),
        ),
      ],
    },
    {
      title: 'Machine',
      panels: [
        graph('Free share of disks', 'percentunit', [
          gauges('min', 'instance, folder', `tollgate_disk_free_bytes{${on}} / tollgate_disk_size_bytes`),
        ]),
        graph(
          'Time until certificates expire',
          's',
          [gauges('min', 'instance, file', `tollgate_certificate_remaining_seconds{${on}}`)],
          'Empty if no process has certificates.',
        ),
        graph('Uptime', 's', [gauges('max', 'instance', `process_uptime_seconds{${on}}`)]),
      ],
    },
  ],
};

/** All dashboards. */
export const dashboards: readonly Dashboard[] = [overview, calls, upstreams, money, databases, processes];
