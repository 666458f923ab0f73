// Threads that count tokens, so that no text, however long or unusual, blocks the event loop of a process with calls in flight.
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { root } from '#kit/root.js';

/** The limits of a pool. */
export interface CountPoolLimits {
  readonly threadsMax: number;
  /** Maximum number of requests that wait for a thread; further ones are not counted. */
  readonly waitingMax: number;
}

/** One thread is enough for the few answers whose usage must be counted; a second keeps them from waiting behind a long prompt. */
const defaultLimits: CountPoolLimits = { threadsMax: Math.min(2, availableParallelism()), waitingMax: 1000 };

/** Memory limit of one thread, in megabytes; the vocabulary takes about a tenth. */
const threadMemoryMbMax = 512;

// In the build, the program of a thread is a file of its own; unit tests run the source.
const program = import.meta.url.endsWith('.ts')
  ? new URL('./count-worker.ts', import.meta.url)
  : new URL('dist/services/inference/tokens/count-worker.js', root);

interface Job {
  readonly texts: readonly string[];
  readonly done: (tokens: number | undefined) => void;
}

interface Thread {
  readonly worker: Worker;
  job: Job | undefined;
}

/** Counts texts in its own threads, first come, first served. Threads are started when first needed. */
export class CountPool {
  readonly #threads: Thread[] = [];
  readonly #waiting: Job[] = [];

  constructor(private readonly limits: CountPoolLimits = defaultLimits) {}

  /**
   * Returns the total tokens of the texts by the o200k vocabulary, or undefined when too many requests already wait, the count takes longer than
   * `withinMs` or the thread failed: the caller must then do without. Callers cut long texts into pieces and send them one after another, so that
   * other texts get their turn in between.
   */
  count(texts: readonly string[], withinMs: number): Promise<number | undefined> {
    if (this.#waiting.length >= this.limits.waitingMax) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const done = (tokens: number | undefined): void => {
        clearTimeout(timer);
        resolve(tokens);
      };
      const job: Job = { texts, done };
      const timer = setTimeout(() => this.#giveUp(job), withinMs);
      this.#waiting.push(job);
      this.#next();
    });
  }

  /** Stops all threads; pending counts resolve to undefined. */
  async close(): Promise<void> {
    for (const { done } of this.#waiting.splice(0)) done(undefined);
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #giveUp(job: Job): void {
    const position = this.#waiting.indexOf(job);
    // A thread that counts it already cannot be interrupted.
    if (position >= 0) this.#waiting.splice(position, 1);
    job.done(undefined);
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const thread =
      this.#threads.find(({ job }) => job === undefined) ?? (this.#threads.length < this.limits.threadsMax ? this.#start() : undefined);
    if (thread === undefined) return;
    const job = this.#waiting.shift()!;
    thread.job = job;
    // The process may exit only while nothing is being counted.
    thread.worker.ref();
    thread.worker.postMessage(job.texts);
  }

  #start(): Thread {
    const worker = new Worker(program, { resourceLimits: { maxOldGenerationSizeMb: threadMemoryMbMax } });
    const thread: Thread = { worker, job: undefined };
    const finish = (tokens: number | undefined): void => {
      const { job } = thread;
      thread.job = undefined;
      worker.unref();
      job?.done(tokens);
    };
    worker.on('message', (tokens: number) => {
      finish(tokens);
      this.#next();
    });
    // Always followed by 'exit'.
    worker.on('error', (error) => process.emitWarning(`A token-counting thread failed; its text is estimated instead: ${error.message}`));
    worker.on('exit', () => {
      this.#threads.splice(this.#threads.indexOf(thread), 1);
      finish(undefined);
      this.#next();
    });
    this.#threads.push(thread);
    return thread;
  }
}
