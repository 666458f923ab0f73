// When a message that was not taken is tried again. Pure.

/** Most tries of one message. */
export const attemptsMax = 6;

const growth = 4;

/** How long to wait after this many tries; undefined: it is given up. With 10 s: 10 s, 40 s, 2 min 40 s, 11 min, 43 min. */
export function retryAfterMs(attempts: number, firstMs: number): number | undefined {
  return attempts >= attemptsMax ? undefined : firstMs * growth ** (attempts - 1);
}
