// Long work in steps, without which a process could not serve calls until all of it is done: on SQLite, a step continues with the next
// in the same turn of the event loop.
import { setTimeout as pause } from 'node:timers/promises';
import { nextTurn } from './turn.js';

/** Calls wait for this long at most, and for the step that exceeds it. */
const busyMsMax = 5;

/** Paces long work: it takes at most half of a thread's time, a few milliseconds at a time. */
export class Pacer {
  private startedMs = performance.now();

  /** With a signal, the work ends at its next step once the signal is aborted. */
  constructor(private readonly signal?: AbortSignal) {}

  /** Called between two steps. Lets the process do what waits, for as long as the steps took once they took some time. Throws the signal's reason. */
  async step(): Promise<void> {
    this.signal?.throwIfAborted();
    const busyMs = performance.now() - this.startedMs;
    if (busyMs < busyMsMax) return nextTurn();
    await pause(busyMs, undefined, { ref: false });
    this.signal?.throwIfAborted();
    this.startedMs = performance.now();
  }
}
