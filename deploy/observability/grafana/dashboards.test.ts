import { expect, it } from '@jest/globals';
import { dashboards } from './dashboards.js';
import { modelOf } from './panels.js';

interface Model {
  readonly panels: readonly { readonly id: number; readonly gridPos: Record<'x' | 'y' | 'w' | 'h', number> }[];
}

it.each(dashboards.map((dashboard) => [dashboard.uid, dashboard] as const))(
  'gives each panel an id and a place of its own: %s',
  (_uid, dashboard) => {
    const { panels } = modelOf(dashboard) as Model;
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => ({ x: x + (index % w), y: y + Math.floor(index / w) })),
    );
    expect(cells.filter(({ x }) => x >= 24)).toEqual([]);
    expect(new Set(cells.map(({ x, y }) => `${x},${y}`)).size).toBe(cells.length);
  },
);

it('gives each dashboard a name of its own', () => {
  expect(new Set(dashboards.map(({ uid }) => uid)).size).toBe(dashboards.length);
});

const queries = dashboards.flatMap(({ rows }) =>
  rows.flatMap(({ panels }) => panels.flatMap(({ queries: of }) => of.map(([expr]) => expr))),
);

it('shows 0 for faults that have not happened, whose series do not exist yet', () => {
  const faults = queries.filter((expr) => /_(refused|failures|retries|ejections|slow_answers|paced|rate_limited)_total/.test(expr));
  expect(faults).not.toEqual([]);
  expect(faults.filter((expr) => !expr.endsWith('or vector(0)'))).toEqual([]);
});

it('shows no 0 where it means that something has run out', () => {
  const left = queries.filter((expr) => /_(free|remaining)_/.test(expr));
  expect(left).not.toEqual([]);
  expect(left.filter((expr) => expr.includes('vector(0)'))).toEqual([]);
});
