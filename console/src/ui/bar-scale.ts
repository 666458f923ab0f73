// The axis of a chart, and the geometry of its bars. Pure.

/** Returns the marks of an axis of whole numbers from zero: at most five, at round distances, the last of them not far above the largest value. */
export function marksOf(largest: number): number[] {
  if (!(largest > 0)) return [0, 1];
  const power = 10 ** Math.floor(Math.log10(largest));
  const steps = [0.2, 0.25, 0.5, 1, 2, 2.5, 5].map((times) => times * power).filter(Number.isInteger);
  const step = steps.find((each) => Math.ceil(largest / each - 1e-9) <= 4) ?? 5 * power;
  return Array.from({ length: Math.ceil(largest / step - 1e-9) + 1 }, (_, index) => index * step);
}

/** The least height of a value that is not zero, so that it can be seen. */
const leastHeight = 2;

/** Returns the heights of the parts of a bar. Small parts are made visible at the expense of the largest one. */
export function heightsOf(values: readonly number[], top: number, height: number): number[] {
  const heights = values.map((value) => (value <= 0 || top <= 0 ? 0 : Math.max(leastHeight, (value / top) * height)));
  const excess = heights.reduce((sum, each) => sum + each, 0) - (values.reduce((sum, each) => sum + Math.max(0, each), 0) / top) * height;
  const largest = heights.indexOf(Math.max(...heights));
  if (excess > 0 && heights[largest]! - excess >= leastHeight) heights[largest]! -= excess;
  return heights;
}
