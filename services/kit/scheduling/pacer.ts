// Divides long work into steps, between which the process serves calls. On SQLite, all queries of such work could otherwise run in one turn
// of the event loop.
import { setTimeout as pause } from 'node:timers/promises';
import { nextTurn } from './turn.js';

/** How long steps may take together before a pause. */
const busyMsMax = 5;

/** Paces long work: it takes at most half of a thread's time, a few milliseconds at a time. */
export class Pacer {
  private startedMs = performance.now();

  /** With a signal, the work ends at its next step once the signal is aborted. */
  constructor(private readonly signal?: AbortSignal) {}

  /**
   * Call between two steps. Lets other work of the process run: for a turn of the event loop or, once the steps have taken a few milliseconds, for as
   * long as they took. Throws the signal's reason.
   */
  async step(): Promise<void> {
    this.signal?.throwIfAborted();
    const busyMs = performance.now() - this.startedMs;
    if (busyMs < busyMsMax) return nextTurn();
    await pause(busyMs, undefined, { ref: false });
    this.signal?.throwIfAborted();
    this.startedMs = performance.now();
  }
}
