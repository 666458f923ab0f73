// Random numbers that are reproducible from a seed. Pure.

/** A source of random numbers. */
export interface Random {
  /** Returns an integer from `min` to `max`, inclusive. */
  integer(min: number, max: number): number;
  /** Returns true with this probability. */
  happens(probability: number): boolean;
  /** Returns an element of a list, which must not be empty. */
  pick<T>(list: readonly T[]): T;
  /** Returns the list in random order. */
  shuffle<T>(list: readonly T[]): T[];
}

/** Returns random numbers that depend only on the seed (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number): number => min + Math.floor(next() * (max - min + 1));
  return {
    integer,
    happens: (probability) => next() < probability,
    pick: (list) => list[integer(0, list.length - 1)]!,
    shuffle(list) {
      const left = [...list];
      return Array.from(list, () => left.splice(integer(0, left.length - 1), 1)[0]!);
    },
  };
}
