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
