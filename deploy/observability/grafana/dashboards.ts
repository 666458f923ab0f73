// The dashboards, which the build writes to dist/grafana. A panel about faults shows 0 while there are none (`or vector(0)`), so that "no data" always means
// that something is not scraped.
import type { Dashboard, Query } from './panels.js';

const callRoutes = 'http_route=~".*/(chat/completions|messages|responses|embeddings)"';
const on = 'instance=~"$instance"';

/** The rate of a counter per second, by labels. */
function rate(metric: string, by = '', selector = ''): string {
  const of = `sum${by === '' ? '' : ` by (${by})`} (rate(${metric}{${[on, selector].filter((each) => each !== '').join(', ')}}[$__rate_interval]))`;
  return by === '' ? `${of} or vector(0)` : of;
}

/** The 50th and the 99th percentile of a histogram, by labels. */
function quantiles(metric: string, by = '', selector = ''): readonly Query[] {
  const legend = by === '' ? '' : ` {{${by.replaceAll(', ', '}} {{')}}}`;
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
        {
          title: 'Calls',
          kind: 'value',
          unit: 'reqps',
          queries: [[rate('http_server_request_duration_seconds_count', '', callRoutes), 'calls']],
        },
        {
          title: 'Error ratio, 1 h',
          description: 'Share of calls answered with a 5xx status. The objective is 0.1 % over 30 days.',
          kind: 'value',
          unit: 'percentunit',
          queries: [['tollgate:call_errors:ratio_rate1h', 'errors']],
          redFrom: 0.001,
        },
        {
          title: 'Slow ratio, 1 h',
          description: 'Share of calls to which Tollgate added more than 100 ms. The objective is 1 % over 30 days.',
          kind: 'value',
          unit: 'percentunit',
          queries: [['tollgate:call_added_slow:ratio_rate1h', 'slow']],
          redFrom: 0.01,
        },
        { title: 'Calls in flight', kind: 'value', unit: 'short', queries: [[`sum(tollgate_gateway_calls{${on}})`, 'calls']] },
        {
          title: 'Drifts',
          description: 'Disagreements between records, ledger and catalog.',
          kind: 'value',
          unit: 'short',
          queries: [['sum(max by (check) (tollgate_reconcile_drift))', 'drifts']],
          redFrom: 1,
        },
        {
          title: 'Processes down',
          kind: 'value',
          unit: 'short',
          queries: [['count(up{job="tollgate"} == 0) or vector(0)', 'down']],
          redFrom: 1,
        },
      ],
    },
    {
      title: 'Traffic',
      panels: [
        {
          title: 'Requests by status',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('http_server_request_duration_seconds_count', 'http_response_status_code'), '{{http_response_status_code}}']],
        },
        { title: 'Calls by outcome', kind: 'graph', unit: 'reqps', queries: [[rate('tollgate_calls_total', 'outcome'), '{{outcome}}']] },
        {
          title: 'Refused calls by reason',
          kind: 'graph',
          unit: 'reqps',
          queries: [[`${rate('tollgate_calls_refused_total', 'reason')} or vector(0)`, '{{reason}}']],
        },
        { title: 'Latency that Tollgate adds', kind: 'graph', unit: 's', queries: quantiles('tollgate_call_added_duration_seconds') },
        { title: 'Duration of calls', kind: 'graph', unit: 's', queries: quantiles('gen_ai_server_request_duration_seconds') },
        {
          title: 'Charges',
          kind: 'graph',
          unit: 'currencyUSD',
          description: 'USD per hour.',
          queries: [[`3600e-9 * (${rate('tollgate_charged_nano_usd_total')})`, 'USD per hour']],
        },
      ],
    },
    {
      title: 'Parts',
      panels: [
        {
          title: 'Gateways that can serve calls',
          description: '0: the part is missing.',
          kind: 'graph',
          unit: 'short',
          queries: [[`min by (instance, part) (tollgate_gateway_ready{${on}})`, '{{instance}} {{part}}']],
        },
        {
          title: 'Age of local copies',
          kind: 'graph',
          unit: 's',
          queries: [[`max by (instance, replica) (tollgate_replica_age_seconds{${on}})`, '{{instance}} {{replica}}']],
        },
        { title: 'Versions', kind: 'graph', unit: 'short', queries: [['count by (version) (tollgate_build_info)', '{{version}}']] },
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
        { title: 'Calls by model', kind: 'graph', unit: 'reqps', queries: [[rate('tollgate_calls_total', 'model'), '{{model}}']] },
        {
          title: 'Calls by model and outcome',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('tollgate_calls_total', 'model, outcome'), '{{model}} {{outcome}}']],
        },
        {
          title: 'Duration by model',
          kind: 'graph',
          unit: 's',
          queries: quantiles('gen_ai_server_request_duration_seconds', 'gen_ai_request_model'),
        },
      ],
    },
    {
      title: 'Streams',
      panels: [
        {
          title: 'Time to the first token',
          kind: 'graph',
          unit: 's',
          queries: quantiles('gen_ai_server_time_to_first_token_seconds', 'gen_ai_request_model'),
        },
        {
          title: 'Time per output token',
          kind: 'graph',
          unit: 's',
          queries: quantiles('gen_ai_server_time_per_output_token_seconds', 'gen_ai_request_model'),
        },
        {
          title: 'Output tokens per second',
          kind: 'graph',
          unit: 'short',
          queries: [[rate('tollgate_tokens_total', 'model', 'type="output"'), '{{model}}']],
        },
      ],
    },
    {
      title: 'Tokens and prices',
      panels: [
        { title: 'Tokens by type', kind: 'graph', unit: 'short', queries: [[rate('tollgate_tokens_total', 'type'), '{{type}}']] },
        {
          title: 'Input read from prompt caches',
          kind: 'graph',
          unit: 'percentunit',
          queries: [
            [
              `(${rate('tollgate_tokens_total', '', 'type="cache_read"')}) / sum(rate(tollgate_tokens_total{${on}, type!="output"}[$__rate_interval]))`,
              'of all input',
            ],
          ],
        },
        {
          title: 'Charges by model',
          description: 'USD per hour.',
          kind: 'graph',
          unit: 'currencyUSD',
          queries: [[`3600e-9 * ${rate('tollgate_charged_nano_usd_total', 'model')}`, '{{model}}']],
        },
      ],
    },
    {
      title: 'Limits and repeats',
      panels: [
        {
          title: 'Refused by rate limits',
          kind: 'graph',
          unit: 'reqps',
          queries: [[`${rate('tollgate_gateway_rate_limited_total', 'scope, limit')} or vector(0)`, '{{scope}} {{limit}}']],
        },
        {
          title: 'Repeats answered from storage',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('tollgate_calls_replayed_total'), 'repeats']],
        },
        {
          title: 'Logged prompts and answers',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('tollgate_prompt_logs_total', 'result'), '{{result}}']],
        },
        {
          title: 'Key lookups',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('tollgate_keys_lookups_total', 'result'), '{{result}}']],
        },
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
        {
          title: 'Attempts',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('gen_ai_client_operation_duration_seconds_count', 'upstream'), '{{upstream}}']],
        },
        {
          title: 'Failed attempts by reason',
          kind: 'graph',
          unit: 'reqps',
          queries: [[`${rate('tollgate_upstream_failures_total', 'upstream, reason')} or vector(0)`, '{{upstream}} {{reason}}']],
        },
        {
          title: 'Retries',
          kind: 'graph',
          unit: 'reqps',
          queries: [[`${rate('tollgate_upstream_retries_total', 'upstream, result')} or vector(0)`, '{{upstream}} {{result}}']],
        },
      ],
    },
    {
      title: 'Latency',
      panels: [
        { title: 'Duration', kind: 'graph', unit: 's', queries: quantiles('gen_ai_client_operation_duration_seconds', 'upstream') },
        {
          title: 'Time to the first event',
          kind: 'graph',
          unit: 's',
          queries: quantiles('gen_ai_client_operation_time_to_first_chunk_seconds', 'upstream'),
        },
        {
          title: 'Slow answers',
          kind: 'graph',
          unit: 'reqps',
          queries: [[`${rate('tollgate_upstream_slow_answers_total', 'upstream')} or vector(0)`, '{{upstream}}']],
        },
      ],
    },
    {
      title: 'Health',
      panels: [
        {
          title: 'Targets by state',
          kind: 'graph',
          unit: 'short',
          queries: [[`sum by (upstream, state) (tollgate_upstream_targets{${on}})`, '{{upstream}} {{state}}']],
        },
        {
          title: 'Credentials by state',
          description: 'Of upstreams with several.',
          kind: 'graph',
          unit: 'short',
          queries: [[`sum by (upstream, state) (tollgate_upstream_credentials{${on}}) or vector(0)`, '{{upstream}} {{state}}']],
        },
        {
          title: 'Ejections',
          kind: 'graph',
          unit: 'short',
          queries: [[`${rate('tollgate_upstream_ejections_total', 'upstream')} or vector(0)`, '{{upstream}}']],
        },
        {
          title: "Waits for a vendor's allowance",
          kind: 'graph',
          unit: 'reqps',
          queries: [[`${rate('tollgate_upstream_paced_total', 'upstream, result')} or vector(0)`, '{{upstream}} {{result}}']],
        },
      ],
    },
    {
      title: 'Tokens',
      panels: [
        {
          title: 'Tokens by upstream',
          kind: 'graph',
          unit: 'short',
          queries: [[rate('gen_ai_client_token_usage_sum', 'upstream, gen_ai_token_type'), '{{upstream}} {{gen_ai_token_type}}']],
        },
        {
          title: 'Charges by upstream',
          description: 'USD per hour.',
          kind: 'graph',
          unit: 'currencyUSD',
          queries: [[`3600e-9 * ${rate('tollgate_charged_nano_usd_total', 'upstream')}`, '{{upstream}}']],
        },
        {
          title: 'Calls with implausible usage',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('tollgate_calls_quarantined_total'), 'quarantined']],
        },
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
        {
          title: 'Drifts by check',
          kind: 'graph',
          unit: 'short',
          queries: [['max by (check) (tollgate_reconcile_drift)', '{{check}}']],
        },
        {
          title: 'Time since the last comparison',
          kind: 'graph',
          unit: 's',
          queries: [['min by (run) (tollgate_reconcile_last_run_age_seconds)', '{{run}}']],
        },
        {
          title: 'Shortfall',
          description: 'USD per hour that could not be charged.',
          kind: 'graph',
          unit: 'currencyUSD',
          queries: [[`3600e-9 * (${rate('tollgate_shortfall_nano_usd_total')})`, 'USD per hour']],
        },
      ],
    },
    {
      title: 'Holds',
      panels: [
        { title: 'Decisions about holds', kind: 'graph', unit: 'reqps', queries: [[rate('tollgate_holds_total', 'result'), '{{result}}']] },
        {
          title: 'Open holds',
          kind: 'graph',
          unit: 'short',
          queries: [
            ['max(tollgate_holds_open)', 'open'],
            ['max(tollgate_holds_past_expiry)', 'past their expiry'],
          ],
        },
        {
          title: 'Time for a durable hold and a durable record',
          kind: 'graph',
          unit: 's',
          queries: quantiles('tollgate_call_phase_duration_seconds', 'phase'),
        },
      ],
    },
    {
      title: 'Settlement',
      panels: [
        { title: 'Settlement lag', kind: 'graph', unit: 's', queries: quantiles('tollgate_settlement_lag_seconds') },
        {
          title: 'Charges waiting for the ledger',
          kind: 'graph',
          unit: 'short',
          queries: [
            ['max(tollgate_outbox_pending)', 'waiting'],
            ['max(tollgate_outbox_failed)', 'refused permanently'],
          ],
        },
        {
          title: 'Age of the oldest charge that waits',
          kind: 'graph',
          unit: 's',
          queries: [['max(tollgate_outbox_oldest_age_seconds)', 'age']],
        },
      ],
    },
    {
      title: 'Spool',
      panels: [
        {
          title: 'Calls in the spool',
          kind: 'graph',
          unit: 'short',
          queries: [
            [`sum by (instance) (tollgate_spool_waiting{${on}})`, '{{instance}} waiting'],
            [`sum by (instance) (tollgate_spool_refused{${on}} + tollgate_spool_damaged_files)`, '{{instance}} set aside'],
          ],
        },
        {
          title: 'Size of the spool',
          kind: 'graph',
          unit: 'bytes',
          queries: [[`sum by (instance) (tollgate_spool_size_bytes{${on}})`, '{{instance}}']],
        },
        {
          title: 'Age of the oldest call in the spool',
          kind: 'graph',
          unit: 's',
          queries: [[`max by (instance) (tollgate_spool_oldest_age_seconds{${on}})`, '{{instance}}']],
        },
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
        {
          title: 'Statements by operation',
          kind: 'graph',
          unit: 'reqps',
          queries: [[rate('db_client_operation_duration_seconds_count', 'db_operation_name'), '{{db_operation_name}}']],
        },
        {
          title: 'Duration by operation',
          kind: 'graph',
          unit: 's',
          queries: quantiles('db_client_operation_duration_seconds', 'db_operation_name'),
        },
        {
          title: 'Failed statements',
          kind: 'graph',
          unit: 'reqps',
          queries: [
            [`${rate('db_client_operation_duration_seconds_count', 'error_type', 'error_type!=""')} or vector(0)`, '{{error_type}}'],
          ],
        },
        {
          title: 'Time by table',
          description: 'Seconds of statements per second.',
          kind: 'graph',
          unit: 'short',
          queries: [[`topk(10, ${rate('db_client_operation_duration_seconds_sum', 'db_collection_name')})`, '{{db_collection_name}}']],
        },
        { title: 'Disk syncs of SQLite', kind: 'graph', unit: 's', queries: quantiles('tollgate_wal_sync_duration_seconds') },
        { title: 'Items per transaction', kind: 'graph', unit: 'short', queries: quantiles('tollgate_batch_size', 'lane') },
      ],
    },
    {
      title: 'Connections and queues',
      panels: [
        {
          title: 'Connections',
          kind: 'graph',
          unit: 'short',
          queries: [
            [
              `sum by (db_client_connection_pool_name, db_client_connection_state) (db_client_connection_count{${on}})`,
              '{{db_client_connection_pool_name}} {{db_client_connection_state}}',
            ],
          ],
        },
        {
          title: 'Requests waiting for a connection',
          kind: 'graph',
          unit: 'short',
          queries: [
            [
              `sum by (db_client_connection_pool_name) (db_client_connection_pending_requests{${on}})`,
              '{{db_client_connection_pool_name}}',
            ],
          ],
        },
        {
          title: 'Time until a connection is free',
          kind: 'graph',
          unit: 's',
          queries: quantiles('db_client_connection_wait_time_seconds', 'db_client_connection_pool_name'),
        },
        {
          title: 'Items waiting for a transaction',
          kind: 'graph',
          unit: 'short',
          queries: [[`sum by (lane) (tollgate_batch_queue{${on}})`, '{{lane}}']],
        },
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
        {
          title: 'CPU',
          description: 'Busy cores.',
          kind: 'graph',
          unit: 'short',
          queries: [[rate('process_cpu_time_seconds_total', 'instance'), '{{instance}}']],
        },
        {
          title: 'Memory',
          kind: 'graph',
          unit: 'bytes',
          queries: [[`sum by (instance) (process_memory_usage_bytes{${on}})`, '{{instance}}']],
        },
        {
          title: 'Open files and threads',
          kind: 'graph',
          unit: 'short',
          queries: [
            [`sum by (instance) (process_open_file_descriptor_count{${on}})`, '{{instance}} files'],
            [`sum by (instance) (process_thread_count{${on}})`, '{{instance}} threads'],
          ],
        },
      ],
    },
    {
      title: 'Threads',
      panels: [
        {
          title: 'Utilization of event loops',
          kind: 'graph',
          unit: 'percentunit',
          queries: [[`max by (instance, thread) (nodejs_eventloop_utilization_ratio{${on}})`, '{{instance}} {{thread}}']],
        },
        {
          title: 'Delay of event loops, p99',
          kind: 'graph',
          unit: 's',
          queries: [[`max by (instance, thread) (nodejs_eventloop_delay_p99_seconds{${on}})`, '{{instance}} {{thread}}']],
        },
        {
          title: 'Time in garbage collections',
          kind: 'graph',
          unit: 'percentunit',
          queries: [[rate('v8js_gc_duration_seconds_sum', 'instance, thread'), '{{instance}} {{thread}}']],
        },
        {
          title: 'Used share of the heap',
          kind: 'graph',
          unit: 'percentunit',
          queries: [
            [`max by (instance, thread) (v8js_memory_heap_used_bytes{${on}} / v8js_memory_heap_limit_bytes)`, '{{instance}} {{thread}}'],
          ],
        },
      ],
    },
    {
      title: 'Calls between services',
      panels: [
        {
          title: 'RPCs served',
          kind: 'graph',
          unit: 'reqps',
          queries: [[`topk(12, ${rate('rpc_server_call_duration_seconds_count', 'rpc_method')})`, '{{rpc_method}}']],
        },
        {
          title: 'RPCs that failed',
          kind: 'graph',
          unit: 'reqps',
          queries: [
            [
              `${rate('rpc_server_call_duration_seconds_count', 'rpc_method, rpc_response_status_code', 'rpc_response_status_code!="OK"')} or vector(0)`,
              '{{rpc_method}} {{rpc_response_status_code}}',
            ],
          ],
        },
        {
          title: 'Duration of holds and records',
          kind: 'graph',
          unit: 's',
          queries: quantiles('rpc_server_call_duration_seconds', 'rpc_method', 'rpc_method=~".*/(Hold|RecordUsage)"'),
        },
      ],
    },
    {
      title: 'Machine',
      panels: [
        {
          title: 'Free share of disks',
          kind: 'graph',
          unit: 'percentunit',
          queries: [[`min by (instance, folder) (tollgate_disk_free_bytes{${on}} / tollgate_disk_size_bytes)`, '{{instance}} {{folder}}']],
        },
        {
          title: 'Time until certificates expire',
          description: 'Empty if no process has certificates.',
          kind: 'graph',
          unit: 's',
          queries: [[`min by (instance, file) (tollgate_certificate_remaining_seconds{${on}})`, '{{instance}} {{file}}']],
        },
        { title: 'Uptime', kind: 'graph', unit: 's', queries: [[`max by (instance) (process_uptime_seconds{${on}})`, '{{instance}}']] },
      ],
    },
  ],
};

/** All dashboards. */
export const dashboards: readonly Dashboard[] = [overview, calls, upstreams, money, databases, processes];
