// The next turn of the event loop, shared: all waiters continue together, before any other work.

let turn: Promise<void> | undefined;

/** Resolves at the next turn of the event loop. All waiters continue before the next callback of that turn runs. */
export function nextTurn(): Promise<void> {
  return (turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  }));
}
