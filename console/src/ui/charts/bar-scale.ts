// The axis of a chart, and the geometry of its bars. Pure.

/** Returns the marks of an axis of whole numbers from zero: at most five, at round distances, the last of them not far above the largest value. */
export function marksOf(largest: number): number[] {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest));
  const steps = [0.2, 0.25, 0.5, 1, 2, 2.5, 5].map((times) => times * power).filter(Number.isInteger);
  const step = steps.find((each) => Math.ceil(largest / each - 1e-9) <= 4) ?? 5 * power;
  return Array.from({ length: Math.ceil(largest / step - 1e-9) + 1 }, (_, index) => index * step);
}

/** The least height of a bar that is not zero, and of its parts, so that they can be seen. */
const leastHeight = 2;

/**
 * Returns the heights of the parts of a bar, whose sum is the height of the bar. Small parts are made visible at the expense of larger ones; where there is no
 * room for all parts, the smallest are left out.
 */
export function heightsOf(values: readonly number[], top: number, height: number): number[] {
  const heights = values.map(() => 0);
  const bySize = values.map((value, part) => ({ value, part })).filter(({ value }) => value > 0 && top > 0);
  const total = bySize.reduce((sum, { value }) => sum + value, 0);
  let room = Math.max(leastHeight, (total / top) * height);
  const visible = bySize.toSorted((one, other) => other.value - one.value).slice(0, Math.floor(room / leastHeight));
  let left = visible.reduce((sum, { value }) => sum + value, 0);
  for (const { value, part } of visible.toReversed()) {
    heights[part] = Math.max(leastHeight, (room * value) / left);
    room -= heights[part];
    left -= value;
  }
  return heights;
}
