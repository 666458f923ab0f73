// What a form has changed, so that saving it does not undo what others changed meanwhile. Pure.

/** Returns the fields of `after` that differ from those of `before`. */
export function differing<F extends object>(before: F, after: F): Partial<F> {
  const names = Object.keys(after) as (keyof F)[];
  return Object.fromEntries(
    names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).map((name) => [name, after[name]]),
  ) as Partial<F>;
}
