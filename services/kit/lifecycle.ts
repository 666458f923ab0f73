// Parts of a process that start in order and stop in reverse.
import type { Logger } from './log.js';

/** A part of a process that starts and stops. */
export interface Part {
  /** For logs. */
  readonly name: string;
  start(): Promise<void>;
  /** Reports not ready from now on, but continues to serve; called some time before `stop`, on parts that have started. */
  enterLameDuck?(): void;
  /** Finishes the work in progress, then releases everything. */
  stop(): Promise<void>;
}

/** What each service's `create…` returns. */
export interface ServiceModule<Service> extends Part {
  /** The implementation of the generated interface, without decorators. */
  readonly service: Service;
  /** Reports whether it can serve now, and why not. */
  ready(): Promise<{ ok: true } | { ok: false; why: string }>;
}

/**
 * Starts the parts one after another. Returns a function that stops them in reverse order, and calls `onPart` with the name of each part before it
 * stops the part. When a part cannot start, stops those that have started and rethrows.
 */
export async function startInOrder(parts: readonly Part[], log: Logger): Promise<(onPart?: (name: string) => void) => Promise<void>> {
  const started: Part[] = [];
  const stop = async (onPart: (name: string) => void = () => undefined): Promise<void> => {
    for (const part of started.splice(0).reverse()) {
      onPart(part.name);
      try {
        await part.stop();
      } catch (error) {
        log.error({ err: error, part: part.name }, 'part failed to stop');
      }
    }
  };
  for (const part of parts) {
    try {
      await part.start();
      started.push(part);
    } catch (error) {
      await stop();
      throw error;
    }
  }
  return stop;
}
