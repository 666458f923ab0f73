// Sums of usage put together for a chart: parts of a day on both sides of a change of clocks, and small groups under one name. Pure.
import type { TokenSums, UsageTotal } from '../../api/usage.js';
import { nanoUsdOf, usdOfNano, usdText } from '../../format/money.js';
import type { Grain, Measure } from './view.js';

/** Sums over some calls. */
export interface Figures {
  readonly calls: number;
  readonly errors: number;
  readonly nanoUsd: bigint;
  readonly tokens: TokenSums;
}

const none: Figures = { calls: 0, errors: 0, nanoUsd: 0n, tokens: { input: 0, cache_read: 0, cache_write: 0, output: 0, reasoning: 0 } };

/** What a sum of the API says. */
export function figuresOf({ calls, errors, charge_usd, tokens }: UsageTotal): Figures {
  return { calls, errors, nanoUsd: nanoUsdOf(charge_usd), tokens };
}

/** Both together. */
export function plus(a: Figures, b: Figures): Figures {
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

/** All of them together. */
export const sumOf = (figures: Iterable<Figures>): Figures => [...figures].reduce(plus, none);

/** Tokens of every class; reasoning is in the output. */
export const allTokens = ({ input, cache_read, cache_write, output }: TokenSums): number => input + cache_read + cache_write + output;

/** A figure for drawing alone: money goes through a float here and nowhere else. */
export function drawn(figures: Figures, measure: Measure): number {
  if (measure === 'spend') return Number(figures.nanoUsd);
  return measure === 'tokens' ? allTokens(figures.tokens) : figures[measure];
}

/** A figure as text, whole. */
export function figureText(figures: Figures, measure: Measure, count: (value: number) => string): string {
  return measure === 'spend' ? usdText(usdOfNano(figures.nanoUsd)) : count(drawn(figures, measure));
}

/** By the name of a day or the instant of an hour, and by the name of a group. */
export type Slots = ReadonlyMap<string, ReadonlyMap<string, Figures>>;

/** The sums of all parts of a range in one: a day that clocks change in comes with both of its parts. */
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

/** Days are called by their names, hours by the millisecond at which they begin: one hour may be told in two offsets. */
function slotId(name: string, grain: Grain): string {
  return grain === 'day' ? name : String(Date.parse(name));
}

/** A chart: its series by name, undefined for all others together, and the figures of each in each slot. */
export interface Chart {
  readonly series: readonly (string | undefined)[];
  readonly rows: readonly (readonly Figures[])[];
}

const seriesMax = 8;

/** The first groups, in the order in which they come, and the others as one. `ids` are the slots, also those without calls. */
export function chartOf(slots: Slots, ids: readonly string[], groups: readonly string[]): Chart {
  // A call may have come after the groups were told, and before the slots were.
  const all = [...new Set([...groups, ...[...slots.values()].flatMap((slot) => [...slot.keys()])])];
  const fit = all.length <= seriesMax + 1;
  const shown = fit ? all : all.slice(0, seriesMax);
  const series = fit ? shown : [...shown, undefined];
  const isShown = new Set(shown);
  const rows = ids.map((id) => {
    const slot = slots.get(id);
    return series.map((name) => {
      if (name !== undefined) return slot?.get(name) ?? none;
      return sumOf([...(slot ?? [])].filter(([each]) => !isShown.has(each)).map(([, figures]) => figures));
    });
  });
  return { series, rows };
}

/** A share in tenths of a percent, as text; `–` of nothing. */
export function shareText(part: bigint, whole: bigint): string {
  if (whole <= 0n) return '–';
  const tenths = (part * 1000n + whole / 2n) / whole;
  return `${tenths / 10n}.${tenths % 10n}%`;
}
