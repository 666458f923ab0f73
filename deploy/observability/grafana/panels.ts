// The panels of Grafana dashboards, as far as ours use them (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/).
// Pure.

/** A query in PromQL and its legend, which may name labels: "{{upstream}}". */
export type Query = readonly [expr: string, legend: string];

/** One panel: a graph over time, or the present values. */
interface Panel {
  readonly title: string;
  readonly description?: string;
  readonly kind: 'graph' | 'value';
  /** As Grafana names it: s, bytes, reqps, percentunit, short, currencyUSD. */
  readonly unit: string;
  readonly queries: readonly Query[];
  /** The value at and above which a panel of current values is red; below it, the panel is green. */
  readonly redFrom?: number;
}

/** A graph over time. */
export function graph(title: string, unit: string, queries: readonly Query[], description?: string): Panel {
  return { title, unit, queries, description, kind: 'graph' };
}

/** The present values of a query. */
export function values(title: string, unit: string, query: Query, rest: Pick<Panel, 'description' | 'redFrom'> = {}): Panel {
  return { title, unit, queries: [query], ...rest, kind: 'value' };
}

/** A dashboard: rows of panels. */
export interface Dashboard {
  /** The name of its file. */
  readonly uid: string;
  readonly title: string;
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
}

const width = 24;
const valueHeight = 4;
const graphHeight = 8;
const datasource = { type: 'prometheus', uid: '${datasource}' };

/** Returns the JSON model of a dashboard. */
export function modelOf({ uid, title, rows }: Dashboard): object {
  const panels: object[] = [];
  let y = 0;
  for (const row of rows) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: width, h: 1 },
      panels: [],
    });
    y += 1;
    const h = row.panels.some(({ kind }) => kind === 'graph') ? graphHeight : valueHeight;
    const perLine = Math.min(row.panels.length, h === graphHeight ? 3 : 6);
    const w = Math.floor(width / perLine);
    row.panels.forEach((panel, index) => {
      const gridPos = { x: (index % perLine) * w, y: y + Math.floor(index / perLine) * h, w, h };
      panels.push({ id: panels.length + 1, gridPos, ...panelOf(panel) });
    });
    y += Math.ceil(row.panels.length / perLine) * h;
  }
  return {
    uid: `tollgate-${uid}`,
    title: `Tollgate: ${title}`,
    tags: ['tollgate'],
    timezone: 'browser',
    schemaVersion: 39,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    links: [{ type: 'dashboards', title: 'Tollgate', tags: ['tollgate'], asDropdown: true, includeVars: true, keepTime: true }],
    templating: {
      list: [
        { type: 'datasource', name: 'datasource', label: 'Data source', query: 'prometheus' },
        {
          type: 'query',
          name: 'instance',
          label: 'Process',
          datasource,
          query: { query: 'label_values(tollgate_build_info, instance)', refId: 'instance' },
          refresh: 2,
          multi: true,
          includeAll: true,
          allValue: '.*',
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels,
  };
}

function panelOf({ title, description, kind, unit, queries, redFrom }: Panel): object {
  const steps = [{ color: 'green', value: null }, ...(redFrom === undefined ? [] : [{ color: 'red', value: redFrom }])];
  const isGraph = kind === 'graph';
  return {
    type: isGraph ? 'timeseries' : 'stat',
    title,
    ...(description === undefined ? {} : { description }),
    datasource,
    fieldConfig: {
      defaults: {
        unit,
        min: 0,
        ...(isGraph ? { custom: { fillOpacity: 10, showPoints: 'never' } } : { thresholds: { mode: 'absolute', steps } }),
      },
      overrides: [],
    },
    options: isGraph
      ? { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } }
      : { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' },
    targets: queries.map(([expr, legendFormat], index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat,
      ...(isGraph ? {} : { instant: true }),
    })),
  };
}
