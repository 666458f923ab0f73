// Combines sums of usage for a chart: the parts of a day on which the clocks change, and small groups. Pure.
import type { TokenSums, UsageTotal } from '../../../api/usage.js';
import { nanoUsdOf, usdOfNano, usdText } from '../../../format/money.js';
import type { Grain, Measure } from '../view.js';

/** Sums over some calls. */
export interface Figures {
  readonly calls: number;
  readonly errors: number;
  readonly nanoUsd: bigint;
  readonly tokens: TokenSums;
}

const none: Figures = { calls: 0, errors: 0, nanoUsd: 0n, tokens: { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 } };

/** Converts a sum of the API. */
export function figuresOf({ calls, errors, charge_usd, tokens }: UsageTotal): Figures {
  return { calls, errors, nanoUsd: nanoUsdOf(charge_usd), tokens };
}

/** Returns the sum of both. */
function plus(a: Figures, b: Figures): Figures {
  return {
    calls: a.calls + b.calls,
    errors: a.errors + b.errors,
    nanoUsd: a.nanoUsd + b.nanoUsd,
    tokens: {
      input: a.tokens.input + b.tokens.input,
      cache_read: a.tokens.cache_read + b.tokens.cache_read,
      cache_write: a.tokens.cache_write + b.tokens.cache_write,
      output: a.tokens.output + b.tokens.output,
      reasoning: a.tokens.reasoning + b.tokens.reasoning,
    },
  };
}

/** Returns the sum of all figures. */
export const sumOf = (figures: Iterable<Figures>): Figures => [...figures].reduce(plus, none);

/** Returns the running sums of rows of figures, column by column. */
export function runningSums(rows: readonly (readonly Figures[])[]): Figures[][] {
  const sums: Figures[] = [];
  return rows.map((row) => row.map((figures, at) => (sums[at] = plus(sums[at] ?? none, figures))));
}

/** Returns the tokens of all classes; reasoning is part of the output. */
export const allTokens = ({ input, cache_read, cache_write, output }: TokenSums): number => input + cache_read + cache_write + output;

/** Returns a figure for drawing; the only place where an amount becomes a float. */
export function drawn(figures: Figures, measure: Measure): number {
  if (measure === 'spend') return Number(figures.nanoUsd);
  return measure === 'tokens' ? allTokens(figures.tokens) : figures[measure];
}

/** Returns an exact figure as text. */
export function figureText(figures: Figures, measure: Measure, count: (value: number) => string): string {
  return measure === 'spend' ? usdText(usdOfNano(figures.nanoUsd)) : count(drawn(figures, measure));
}

/** Figures by the name of a day or the start of an hour, and by the name of a group. */
export type Slots = ReadonlyMap<string, ReadonlyMap<string, Figures>>;

/** Merges the sums of all parts of a range. A day on which the clocks change is in two parts. */
export function slotsOf(parts: readonly (readonly UsageTotal[])[], grain: Grain): Slots {
  const slots = new Map<string, Map<string, Figures>>();
  for (const total of parts.flat()) {
    const id = slotId(total.name ?? '', grain);
    const groups = slots.get(id) ?? new Map<string, Figures>();
    const name = total.then_name ?? '';
    groups.set(name, plus(groups.get(name) ?? none, figuresOf(total)));
    slots.set(id, groups);
  }
  return slots;
}

/** Returns the id of a slot: a day's name, or the millisecond at which an hour begins, because an hour can be reported in two offsets. */
function slotId(name: string, grain: Grain): string {
  return grain === 'day' ? name : String(Date.parse(name));
}

/** A chart: its series by name (undefined for all others combined), and the figures of each series in each slot. */
export interface Chart {
  readonly series: readonly (string | undefined)[];
  readonly rows: readonly (readonly Figures[])[];
  /** The groups that are combined, and their figures in each slot. */
  readonly others: { readonly names: readonly string[]; readonly rows: readonly (readonly Figures[])[] };
}

const seriesMax = 8;

/** Returns a chart of the first groups, in their order, with the others combined. `ids` are all slots, including those without calls. */
export function chartOf(slots: Slots, ids: readonly string[], groups: readonly string[]): Chart {
  // A call may have been made after the groups were fetched and before the slots were.
  const all = [...new Set([...groups, ...[...slots.values()].flatMap((slot) => [...slot.keys()])])];
  const fit = all.length <= seriesMax + 1;
  const shown = fit ? all : all.slice(0, seriesMax);
  const names = all.slice(shown.length);
  const rowsOf = (groupNames: readonly string[]) => ids.map((id) => groupNames.map((name) => slots.get(id)?.get(name) ?? none));
  const others = { names, rows: rowsOf(names) };
  const rows = rowsOf(shown);
  return fit
    ? { series: shown, rows, others }
    : { series: [...shown, undefined], rows: rows.map((row, at) => [...row, sumOf(others.rows[at]!)]), others };
}

/** Formats a share in tenths of a percent, without rounding a part to nothing; `–` if the whole is zero. */
export function shareText(part: bigint, whole: bigint): string {
  if (whole <= 0n) return '–';
  const tenths = (part * 1000n + whole / 2n) / whole;
  return tenths === 0n && part > 0n ? '<0.1%' : `${tenths / 10n}.${tenths % 10n}%`;
}
