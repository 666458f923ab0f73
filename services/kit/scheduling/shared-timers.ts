// Timers that share wake-ups: each wake-up of an idle process costs far more than the work that is then due.
import { context, ROOT_CONTEXT } from '@opentelemetry/api';

/** A wait ends at a multiple of the first of these that is not longer than the wait. */
const gridsMs = [1000, 500, 250] as const;

interface Tick {
  readonly timer: NodeJS.Timeout;
  readonly callbacks: Set<() => void>;
}

/** Pending ticks by their time since the start of the process. Replicas start at different times, so their ticks differ. */
const ticks = new Map<number, Tick>();

/**
 * Calls `callback` once, after `waitMs` or earlier by less than the largest grid that is not longer (at most a second), together with all others that
 * wait for the same instant. Waits of less than a quarter of a second are exact. Does not keep the process running. Returns a function that
 * cancels the call.
 */
export function afterAbout(waitMs: number, callback: () => void): () => void {
  const gridMs = gridsMs.find((each) => each <= waitMs);
  if (gridMs === undefined) {
    const timer = outsideTraces(callback, waitMs);
    return () => clearTimeout(timer);
  }
  const nowMs = performance.now();
  const atMs = Math.floor((nowMs + waitMs) / gridMs) * gridMs;
  const tick = ticks.get(atMs) ?? createTick(atMs, atMs - nowMs);
  // Distinct for each wait, even if two have the same callback.
  const call = (): void => callback();
  tick.callbacks.add(call);
  return () => {
    tick.callbacks.delete(call);
    if (tick.callbacks.size > 0 || ticks.get(atMs) !== tick) return;
    clearTimeout(tick.timer);
    ticks.delete(atMs);
  };
}

/** Calls `callback` about every `intervalMs`. Returns a function that stops it. */
export function everyAbout(intervalMs: number, callback: () => void): () => void {
  const again = (): void => {
    cancel = afterAbout(intervalMs, again);
    callback();
  };
  let cancel = afterAbout(intervalMs, again);
  return () => cancel();
}

function createTick(atMs: number, waitMs: number): Tick {
  const callbacks = new Set<() => void>();
  const end = (): void => {
    ticks.delete(atMs);
    for (const callback of callbacks) callback();
  };
  const tick = { timer: outsideTraces(end, Math.ceil(waitMs)), callbacks };
  ticks.set(atMs, tick);
  return tick;
}

/** Runs the callback outside of every trace, because it does not work only for the call that started the timer. */
function outsideTraces(callback: () => void, waitMs: number): NodeJS.Timeout {
  return context.with(ROOT_CONTEXT, () => setTimeout(callback, waitMs).unref());
}
