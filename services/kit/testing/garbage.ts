// Garbage collection on demand, for tests of what is kept in memory.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Runs the garbage collector. */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  // A value that a WeakRef has returned is kept until the present task ends.
  await new Promise((resolve) => setTimeout(resolve, 0));
  (runInNewContext('gc') as () => void)();
}
