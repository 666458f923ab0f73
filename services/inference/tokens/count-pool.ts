// Threads that count tokens, so that no text, however long or odd, holds up the event loop of a process with calls in flight.
import { availableParallelism } from 'node:os';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';

/** How a pool is bounded. */
export interface CountPoolLimits {
  readonly threadsMax: number;
  /** Requests that wait for a thread; further ones are not counted. */
  readonly waitingMax: number;
}

/** One thread is enough for the few answers whose usage has to be counted; a second keeps them apart from a long prompt. */
const defaultLimits: CountPoolLimits = { threadsMax: Math.min(2, availableParallelism()), waitingMax: 1000 };

/** Megabytes of memory of one thread; the vocabulary takes about a tenth. */
const threadMemoryMbMax = 512;

// The same source runs built and, in unit tests, as it is.
const source = new URL(`./count-worker${extname(import.meta.url)}`, import.meta.url);

interface Job {
  readonly texts: readonly string[];
  readonly done: (tokens: number | undefined) => void;
}

interface Thread {
  readonly worker: Worker;
  job: Job | undefined;
}

/** Counts texts in threads of its own, first come, first served. Threads are started when first needed. */
export class CountPool {
  readonly #threads: Thread[] = [];
  readonly #waiting: Job[] = [];

  constructor(private readonly limits: CountPoolLimits = defaultLimits) {}

  /**
   * Tokens of the texts together, by the o200k vocabulary. Undefined when too many wait already or the thread broke down: the caller must then do
   * without. Callers cut long texts in pieces and send one after another, so that others get their turn in between.
   */
  count(texts: readonly string[]): Promise<number | undefined> {
    if (this.#waiting.length >= this.limits.waitingMax) return Promise.resolve(undefined);
    return new Promise((done) => {
      this.#waiting.push({ texts, done });
      this.#next();
    });
  }

  /** Ends all threads; what they had to count is undefined. */
  async close(): Promise<void> {
    for (const { done } of this.#waiting.splice(0)) done(undefined);
    await Promise.all(this.#threads.map(({ worker }) => worker.terminate()));
  }

  #next(): void {
    if (this.#waiting.length === 0) return;
    const thread =
      this.#threads.find(({ job }) => job === undefined) ?? (this.#threads.length < this.limits.threadsMax ? this.#start() : undefined);
    if (thread === undefined) return;
    const job = this.#waiting.shift()!;
    thread.job = job;
    // A process may end while nothing is counted, and not before.
    thread.worker.ref();
    thread.worker.postMessage(job.texts);
  }

  #start(): Thread {
    const worker = new Worker(source, { resourceLimits: { maxOldGenerationSizeMb: threadMemoryMbMax } });
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
    worker.on('error', (error) =>
      process.emitWarning(`A thread that counts tokens broke down, and its text is reckoned: ${error.message}`),
    );
    worker.on('exit', () => {
      this.#threads.splice(this.#threads.indexOf(thread), 1);
      finish(undefined);
      this.#next();
    });
    this.#threads.push(thread);
    return thread;
  }
}
