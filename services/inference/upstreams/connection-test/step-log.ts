// Records the steps of a test as they run: how long each took and what it found.
import type { Clock } from '#kit/clock.js';
import { TestResult, type UpstreamTestStep } from '#proto/inference/v1/inference.js';
import { finding } from '#rules/errors/finding-sentences.js';
import type { UpstreamCredential } from '../credentials.js';
import { faultWords } from './operator-text.js';

/** The steps, in order. The call runs only if a model is named, those after it if they are requested. */
export const stepNames = [
  'address',
  'dns',
  'connect',
  'tls',
  'authentication',
  'models',
  'call',
  'tools',
  'structured_output',
  'images',
  'answers',
] as const;

/** The name of a step. */
export type StepName = (typeof stepNames)[number];

/** The result of a step. */
export interface Found<T> {
  readonly what: string;
  /** The step does not apply, or its result is inconclusive. */
  readonly isSkipped?: boolean;
  /** Passed on to the following steps. */
  readonly value: T;
}

/** Raised by a step that fails. The message is shown to the operator. */
export class StepFault extends Error {
  override readonly name = 'StepFault';
}

/** Ends a test after a failed step, which is already in the log. */
export class TestOver extends Error {
  override readonly name = 'TestOver';
}

/** Runs the work with each of an upstream's credentials, and returns what it found with the first. Raises StepFault with the names of those that failed. */
export async function withEach<T>(
  credentials: readonly UpstreamCredential[],
  signal: AbortSignal,
  work: (credential: UpstreamCredential | undefined) => Promise<Found<T>>,
): Promise<Found<T>> {
  if (credentials.length < 2) return work(credentials[0]);
  let first: Found<T> | undefined;
  const faults: string[] = [];
  for (const credential of credentials) {
    try {
      const found = await work(credential);
      first ??= found;
    } catch (error) {
      if (signal.aborted) throw error;
      faults.push(finding('credential', { name: credential.id, finding: faultWords(error) }));
    }
  }
  if (first === undefined || faults.length > 0) throw new StepFault(faults.join('; '));
  return { ...first, what: finding('each_credential', { count: credentials.length, finding: first.what }) };
}

/** The steps of one test. */
export class StepLog {
  readonly #steps: UpstreamTestStep[] = [];

  /** `signal` ends a running step; its reason says why. `show` prepares texts for operators. */
  constructor(
    private readonly clock: Clock,
    private readonly signal: AbortSignal,
    private readonly show: (text: string) => string,
  ) {}

  /** Runs one step. Raises TestOver when it fails. */
  async run<T>(name: StepName, work: () => Found<T> | Promise<Found<T>>): Promise<T> {
    const startedAtMs = this.clock.monotonicMs();
    const add = (result: TestResult, what: string): void => {
      this.#steps.push({
        name,
        result,
        durationMs: Math.max(0, Math.round(this.clock.monotonicMs() - startedAtMs)),
        detail: this.show(what),
      });
    };
    try {
      const { what, isSkipped, value } = await this.#unlessAborted(work);
      add(isSkipped === true ? TestResult.TEST_RESULT_SKIPPED : TestResult.TEST_RESULT_OK, what);
      return value;
    } catch (error) {
      add(TestResult.TEST_RESULT_FAILED, faultWords(this.signal.aborted ? this.signal.reason : error));
      throw new TestOver(name);
    }
  }

  /** Returns the steps that ran, followed by those of `names` that did not. */
  all(names: readonly StepName[]): UpstreamTestStep[] {
    const untried = names.filter((name) => !this.#steps.some((step) => step.name === name));
    return [...this.#steps, ...untried.map((name) => ({ name, result: TestResult.TEST_RESULT_NOT_RUN, durationMs: 0, detail: '' }))];
  }

  /** Runs `work` until it ends or the signal aborts. Work that cannot be ended is left to its own time limit. */
  async #unlessAborted<T>(work: () => T | Promise<T>): Promise<T> {
    const { signal } = this;
    signal.throwIfAborted();
    let onAbort: () => void = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      onAbort = () => reject(signal.reason as Error);
      signal.addEventListener('abort', onAbort, { once: true });
    });
    try {
      return await Promise.race([work(), aborted]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }
}
