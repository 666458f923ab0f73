// Metrics over OTLP and in a real Prometheus with its rules and dashboards, and that they reveal a wrong bill without anyone running a check.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { dashboards } from '../../deploy/observability/grafana/dashboards.js';
import { readYaml } from '../../deploy/testing/yaml.js';
import { chat, settled, usageRows } from '../support/clients/calls.js';
import { type OtlpReceiver, startOtlpReceiver } from '../support/vendors/otlp.js';
import { eventually, freePort, root } from '../support/systems/process.js';
import { prometheusFolder, promtool, startPrometheus } from '../support/clients/prometheus.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface RuleTests {
  tests: { promql_expr_test?: { expr: string; exp_samples: { labels: string }[] }[] }[];
}

const promqlWords = new Set(['and', 'or', 'unless', 'sum', 'max', 'min', 'count', 'rate', 'increase', 'predict_linear', 'vector']);

/** Returns the metrics that an expression names. */
function metricsIn(query: string): string[] {
  const bare = query.replaceAll(/\b(by|on) *\([^)]*\)|\{[^}]*\}|\[[^\]]*\]/g, ' ');
  return [...new Set(bare.match(/[a-z_][a-z0-9_:]*/g))].filter((word) => !promqlWords.has(word));
}

describe('the rules of Prometheus', () => {
  it('are valid, and each alert fires and ends when it should', async () => {
    expect(await promtool(['check', 'rules', 'tollgate.rules.yaml'])).toMatchObject({ code: 0 });
    expect(await promtool(['test', 'rules', 'tollgate.rules.test.yaml'])).toMatchObject({ code: 0 });
  });

  it('are shown firing, each alert in a case of promtool', async () => {
    const rules = readFileSync(join(prometheusFolder, 'tollgate.rules.yaml'), 'utf8');
    const { tests } = readYaml<RuleTests>(readFileSync(join(prometheusFolder, 'tollgate.rules.test.yaml'), 'utf8'));
    const expected = tests.flatMap(({ promql_expr_test: steps = [] }) =>
      steps.filter(({ expr }) => expr.includes('ALERTS{alertstate="firing"')).flatMap(({ exp_samples: samples }) => samples),
    );
    const shown = new Set(expected.map(({ labels }) => /alertname="(\w+)"/.exec(labels)?.[1]));
    const alerts = [...rules.matchAll(/- alert: (.*)$/gm)].map(([, name]) => name!);
    expect(alerts.filter((name) => !shown.has(name))).toEqual([]);
  });

  it('link a runbook for each alert, and every runbook belongs to an alert', async () => {
    const rules = readFileSync(join(prometheusFolder, 'tollgate.rules.yaml'), 'utf8');
    const linked = [...rules.matchAll(/runbook_url: docs\/runbooks\/(.*)$/gm)].map(([, name]) => name!);
    expect(linked).toHaveLength([...rules.matchAll(/- alert:/g)].length);
    const pages = readdirSync(join(root, 'docs/runbooks')).filter((name) => name !== 'README.md');
    expect([...new Set(linked)].toSorted()).toEqual(pages.toSorted());
  });
});

describe.each(modes)('metrics, %s', (mode) => {
  let system: System;
  let receiver: OtlpReceiver;
  let accountId: string;
  /** The metrics address of each process. */
  const addresses: Record<string, string> = {};
  const processes = mode === 'single' ? ['single'] : ['gateway', 'auth', 'catalog', 'ledger', 'metering', 'inference'];

  beforeAll(async () => {
    receiver = await startOtlpReceiver();
    for (const name of processes) addresses[name] = `127.0.0.1:${await freePort()}`;
    system = await startSystem(mode, {
      ...receiver.env,
      OTEL_METRIC_EXPORT_INTERVAL: '300',
      TOLLGATE_METERING_RECONCILE_INTERVAL: '1s',
      // On a busy machine, the recent run may have passed the calls before a test changes one.
      TOLLGATE_METERING_RECONCILE_FULL_INTERVAL: '1s',
      TOLLGATE_METERING_RECONCILE_PATIENCE: '200ms',
      // With it, the single process has a certificate too.
      ...(mode === 'single' ? { TOLLGATE_GRPC_LISTEN: `127.0.0.1:${await freePort()}` } : {}),
      ...Object.fromEntries(processes.map((name) => [`TOLLGATE_${name.toUpperCase()}_METRICS_LISTEN`, addresses[name]!])),
    });
    accountId = (await system.json<{ id: string }>('account', 'list')).id;
    expect((await chat(system, system.firstKey, { model: 'sandbox/fail-500' })).status).toBeGreaterThanOrEqual(500);
    await (await chat(system, system.firstKey, { model: 'sandbox/story', stream: true, max_tokens: 50 })).text();
    for (let made = 0; made < 3; made += 1) await (await chat(system, system.firstKey)).text();
    await chat(system, 'tg-wrong');
    const { status } = await chat(system, system.firstKey, {
      max_tokens: 8192,
      messages: [{ role: 'user', content: 'x'.repeat(1000) }],
      model: 'no/such',
    });
    expect(status).toBe(404);
    await settled(system, accountId, 5);
  }, 120_000);

  afterAll(async () => {
    await system?.stop();
    await receiver?.stop();
  });

  /** Returns the metrics of all processes, as Prometheus would scrape them. */
  async function scrape(): Promise<string> {
    const texts = await Promise.all(processes.map(async (name) => (await fetch(`http://${addresses[name]}/metrics`)).text()));
    return texts.join('\n');
  }

  it('show how long the certificates of each process are valid', async () => {
    const files = (await scrape()).match(/^tollgate_certificate_remaining_seconds\{.*\}/gm) ?? [];
    for (const file of ['authority', 'certificate'])
      expect(files.filter((labels) => labels.includes(`file="${file}"`))).toHaveLength(processes.length);
  });

  it('reach a collector', async () => {
    const valueOf = (name: string, attributes: Record<string, unknown> = {}): number | undefined => {
      const found = receiver
        .series()
        .filter((series) => series.name === name && Object.entries(attributes).every(([key, value]) => series.attributes[key] === value));
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    };
    await eventually(() => {
      expect(valueOf('tollgate.calls', { outcome: 'completed', model: 'sandbox/echo', upstream: 'sandbox' })).toBe(3);
      expect(valueOf('tollgate.holds.open')).toBe(0);
      expect(valueOf('tollgate.holds.past_expiry')).toBe(0);
      expect(valueOf('tollgate.outbox.pending')).toBe(0);
      expect(valueOf('tollgate.outbox.failed')).toBe(0);
      expect(valueOf('tollgate.reconcile.drift', { check: 'hold' })).toBe(0);
      expect(
        valueOf('http.server.request.duration', { 'http.route': '/v1/chat/completions', 'http.response.status_code': '200' }) ??
          valueOf('http.server.request.duration', { 'http.route': '/v1/chat/completions', 'http.response.status_code': 200 }),
      ).toBe(4);
      return true;
    }, 30_000);
    const charged = (await usageRows(system)).reduce((sum, row) => sum + Number(row.charge_nano_usd), 0);
    expect(valueOf('tollgate.charged.nano_usd')).toBe(charged);
  });

  it('are exposed to Prometheus, and name no account, key or call', async () => {
    const text = await eventually(async () => {
      const found = await scrape();
      return found.includes('tollgate_reconcile_last_run_age_seconds{run="full"}') ? found : undefined;
    }, 30_000);
    for (const line of [
      'tollgate_calls_total{model="sandbox/echo",upstream="sandbox",outcome="completed"} 3',
      'gen_ai_server_request_duration_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="tollgate",gen_ai_request_model="sandbox/echo",upstream="sandbox",outcome="completed"} 3',
      'gen_ai_server_time_to_first_token_seconds_count{gen_ai_operation_name="chat",gen_ai_provider_name="tollgate",gen_ai_request_model="sandbox/story",upstream="sandbox"} 1',
      'tollgate_upstream_failures_total{upstream="sandbox",reason="upstream_failed"} 1',
      'tollgate_holds_total{result="admitted"} 5',
      'tollgate_gateway_ready{part="ledger"} 1',
      'rpc_server_call_duration_seconds_count{rpc_method="tollgate.ledger.v1.LedgerService/Hold",rpc_response_status_code="OK"} 5',
      'tollgate_outbox_oldest_age_seconds 0',
      'tollgate_notifications_pending 0',
      'tollgate_notifications_oldest_age_seconds 0',
      'tollgate_notifications_outbox_age_seconds 0',
      'tollgate_batch_queue{lane="ledger operations"} 0',
      'tollgate_gateway_calls 0',
      'tollgate_reconcile_drift{check="books"} 0',
      'tollgate_reconcile_drift{check="charge"} 0',
      'http_server_request_duration_seconds_count{http_request_method="POST",http_route="/v1/chat/completions",http_response_status_code="401"} 1',
    ]) {
      expect(text).toContain(line);
    }
    // The other side of each call, where it is another process.
    const held =
      'rpc_client_call_duration_seconds_count{rpc_system_name="grpc",rpc_method="tollgate.ledger.v1.LedgerService/Hold",rpc_response_status_code="OK"} 5';
    expect(text.includes(held)).toBe(mode === 'distributed');
    expect(text).toMatch(/^tollgate_batch_size_count\{lane="usage records"\} [1-9]/m);
    expect(text).not.toMatch(/(acct|key|req)_[0-9a-f]{32}/);
    expect(text).not.toContain(system.firstKey.slice(6, -4));
  });

  it('are named and described as promtool expects', async () => {
    for (const name of processes) {
      const text = await (await fetch(`http://${addresses[name]}/metrics`)).text();
      const { output } = await promtool(['check', 'metrics'], text);
      // The semantic conventions have gauges whose names end with "count".
      const complaints = output.split('\n').filter((line) => line !== '' && !/^(process|db_client)_\S+_count non-histogram/.test(line));
      expect(complaints).toEqual([]);
    }
  });

  it('answer every query of the dashboards in a Prometheus, and feed every alert', async () => {
    const prometheus = await startPrometheus(Object.values(addresses));
    try {
      const queries = dashboards.flatMap(({ uid, rows }) =>
        rows.flatMap(({ panels }) => panels.flatMap(({ title, queries: of }) => of.map(([expr]) => ({ panel: `${uid}: ${title}`, expr })))),
      );
      const dataOf = (expr: string) =>
        prometheus.get<{ result: unknown[] }>(
          `query?query=${encodeURIComponent(expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'))}`,
        );
      // Between two scrapes.
      await (await chat(system, system.firstKey)).text();
      await eventually(async () => {
        const found = await Promise.all(
          queries.map(async ({ panel, expr }) => ({ panel, expr, series: (await dataOf(expr)).result.length })),
        );
        expect(found.filter(({ series }) => series === 0).map(({ panel }) => panel)).toEqual([]);
        return true;
      }, 30_000);
      // A rule records a series only at its next evaluation after the series that it reads.
      await eventually(async () => {
        const { groups } = await prometheus.get<{ groups: { rules: { name: string; query: string; health: string }[] }[] }>('rules');
        const rules = groups.flatMap((group) => group.rules);
        expect(rules.filter(({ health }) => health !== 'ok')).toEqual([]);
        const stored = new Set(await prometheus.get<string[]>('label/__name__/values'));
        const missing = rules.flatMap(({ name, query }) =>
          metricsIn(query)
            .filter((metric) => !stored.has(metric))
            .map((metric) => `${name}: ${metric}`),
        );
        // No upstream here has several credentials.
        expect(missing.filter((each) => !each.includes('upstream_credentials'))).toEqual([]);
        return true;
      }, 30_000);
    } finally {
      await prometheus.stop();
    }
  }, 120_000);

  it('report a wrong bill by themselves until it is corrected', async () => {
    expect(JSON.parse((await system.tryCli('ledger', 'verify', '--json')).stdout)).toMatchObject({
      ok: true,
      records_checked: 6,
      drifts: [],
    });
    if (mode === 'distributed') return;
    const [row] = await usageRows(system);
    const db = new Database(join(system.dataDir, 'books.db'));
    const change = (by: number): void =>
      void db
        .prepare('UPDATE usage_record SET charge_nano_usd = charge_nano_usd + ? WHERE id = ?')
        .run(by, Buffer.from(row!.id.slice(4), 'hex'));
    change(1);
    const wrong = await system.tryCli('ledger', 'verify', '--json');
    expect(wrong.code).toBe(1);
    const charge = BigInt(row!.charge_nano_usd);
    expect(JSON.parse(wrong.stdout)).toMatchObject({
      ok: false,
      drifts: [
        { check: 'charge', account_id: accountId, call_id: row!.id, stored: String(charge + 1n), expected: String(charge) },
        { check: 'settlement', call_id: row!.id, stored: String(charge), expected: String(charge + 1n) },
      ],
    });
    const shows = (value: number) =>
      eventually(async () => ((await scrape()).includes(`tollgate_reconcile_drift{check="charge"} ${value}`) ? true : undefined), 40_000);
    await shows(1);
    // Log lines appear with a delay.
    await eventually(() => (system.output().includes('the books disagree') ? true : undefined));
    expect((await system.tryCli('doctor')).stdout).toMatch(/FAIL +reconcile .*tollgate ledger verify/);
    change(-1);
    db.close();
    await shows(0);
    expect(await system.json('ledger', 'verify')).toMatchObject({ ok: true });
  }, 120_000);
});
