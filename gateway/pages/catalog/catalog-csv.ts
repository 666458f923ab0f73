// The public catalog as CSV, for spreadsheets. Pure.
import type { CatalogModel, PerformancePeriodView } from '../../formats/models-schema.js';
import { csvLine } from '../csv.js';

type Column = readonly [string, (model: CatalogModel) => string | number];

const columns: readonly Column[] = [
  ['id', ({ id }) => id],
  ['display_name', (model) => model.display_name],
  ['owned_by', (model) => model.owned_by],
  ['lifecycle', ({ lifecycle }) => lifecycle],
  ['available', ({ available }) => String(available)],
  ['context_tokens', (model) => model.max_input_tokens],
  ['output_tokens', (model) => model.max_tokens],
  ['input_usd_per_mtok', (model) => model.usd_per_million_tokens?.input ?? ''],
  ['cache_read_usd_per_mtok', (model) => model.usd_per_million_tokens?.cache_read ?? ''],
  ['cache_write_5m_usd_per_mtok', (model) => model.usd_per_million_tokens?.cache_write_5m ?? ''],
  ['cache_write_1h_usd_per_mtok', (model) => model.usd_per_million_tokens?.cache_write_1h ?? ''],
  ['output_usd_per_mtok', (model) => model.usd_per_million_tokens?.output ?? ''],
  ['reasoning_usd_per_mtok', (model) => model.usd_per_million_tokens?.reasoning ?? ''],
  ['unit_prices_usd', (model) => model.unit_prices.map(({ unit, usd }) => `${unit}=${usd}`).join(' ')],
  ['input_modalities', (model) => model.input_modalities.join(' ')],
  ['features', ({ features }) => features.join(' ')],
  ...measured('last_24h'),
  ...measured('last_7d'),
];

/** Returns the columns of what was measured in a period; a cell is empty where there were too few calls. */
function measured(period: 'last_24h' | 'last_7d'): Column[] {
  const figures: [string, (of: PerformancePeriodView) => number | undefined][] = [
    ['available_percent', (of) => of.available_percent],
    ['first_token_ms_p50', (of) => of.first_token_ms?.p50],
    ['first_token_ms_p95', (of) => of.first_token_ms?.p95],
    ['output_tokens_per_second_p50', (of) => of.output_tokens_per_second?.p50],
    ['output_tokens_per_second_p5', (of) => of.output_tokens_per_second?.p5],
  ];
  return figures.map(([name, value]) => [
    `${period}_${name}`,
    ({ performance }) => {
      const of = performance?.[period] ?? null;
      return of === null ? '' : (value(of) ?? '');
    },
  ]);
}

/** Returns a header and a line for each model (RFC 4180). */
export function catalogCsv(models: readonly CatalogModel[]): string {
  return [columns.map(([name]) => name), ...models.map((model) => columns.map(([, value]) => value(model)))].map(csvLine).join('');
}
