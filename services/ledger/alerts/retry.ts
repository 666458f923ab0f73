// When a message that was not accepted is retried. Pure.

/** Maximum number of attempts per message. */
export const attemptsMax = 6;

const growth = 4;

/** Returns how long to wait after this many attempts, or undefined to give up. With 10 s: 10 s, 40 s, 2 min 40 s, 11 min, 43 min. */
export function retryAfterMs(attempts: number, firstMs: number): number | undefined {
  return attempts >= attemptsMax ? undefined : firstMs * growth ** (attempts - 1);
}
