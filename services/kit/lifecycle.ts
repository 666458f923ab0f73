// Parts of a process that start in order and stop in reverse.
import type { Logger } from './log.js';

/** Something with a beginning and an end. */
export interface Part {
  /** For logs. */
  readonly name: string;
  start(): Promise<void>;
  /** Finishes what is under way, then frees everything. */
  stop(): Promise<void>;
}

/** What each service's `create…` returns. */
export interface ServiceModule<Service> extends Part {
  /** The implementation of the generated interface, without decorators. */
  readonly service: Service;
  /** Whether it can serve now; the reason when it cannot. */
  ready(): Promise<{ ok: true } | { ok: false; why: string }>;
}

/** Starts the parts one after another; when one fails, those already started are stopped in reverse and the error is thrown. */
export async function startInOrder(parts: readonly Part[], log: Logger): Promise<() => Promise<void>> {
  const started: Part[] = [];
  const stop = async (): Promise<void> => {
    for (const part of started.splice(0).reverse()) {
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
