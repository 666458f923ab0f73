// Divides long work into steps, between which the process serves calls. On SQLite, all queries of such work could otherwise run in one turn
// of the event loop.
import { setTimeout as pause } from 'node:timers/promises';
import { performance } from 'node:perf_hooks';
import { nextTurn } from './turn.js';

/** How long steps may take together before a pause. */
const busyMsMax = 5;
/** The longest pause: within a step the work may have waited, such as for a slow client, while the thread did other work. */
const pauseMsMax = 100;

/** Returns for how long the event loop has run since it began. Time in which it waits, such as for a database server, does not count. */
const activeMs = (): number => performance.eventLoopUtilization().active;

/**
 * Paces long work of short steps: it takes at most half of a thread's time, a few milliseconds at a time. Other work waits for one step at most. What the
 * thread does between the steps does not count: however busy it is, the work continues after each turn of the event loop, and its pauses together
 * are no longer than its steps were.
 */
export class Pacer {
  /** For how long the event loop had run when the current step began. */
  private beganMs = activeMs();
  /** How long the steps since the last pause took. */
  private busyMs = 0;

  /** With a signal, the work ends at its next step once the signal is aborted. */
  constructor(private readonly signal?: AbortSignal) {}

  /**
   * Call between two steps. Lets other work of the process run: for a turn of the event loop or, once the steps have taken a few milliseconds, for as
   * long as they took, but for at most 100 ms. Throws the signal's reason.
   */
  async step(): Promise<void> {
    this.signal?.throwIfAborted();
    this.busyMs += activeMs() - this.beganMs;
    if (this.busyMs < busyMsMax) await nextTurn();
    else {
      await pause(Math.min(this.busyMs, pauseMsMax), undefined, { ref: false });
      this.signal?.throwIfAborted();
      this.busyMs = 0;
    }
    this.beganMs = activeMs();
  }
}
