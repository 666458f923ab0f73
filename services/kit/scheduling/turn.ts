// Turns of the event loop.

let turn: Promise<void> | undefined;

/** Resolves at the next turn of the event loop. All waiters continue together, before the next callback of that turn runs. */
export function nextTurn(): Promise<void> {
  return (turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  }));
}

/**
 * Calls back once the event loop has read what had arrived at its sockets. After a pause of the process, due timers run first, so a client's disconnect may
 * not be known yet although it happened before.
 */
export function whenSocketsRead(act: () => void): void {
  // The event loop reads between the two.
  setImmediate(() => setImmediate(act));
}
