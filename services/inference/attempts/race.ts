// Hedges an attempt: when its first event is late, a second attempt begins at another target, and the first of the two to answer wins.
import { AppError } from '#client/errors/app-error.js';
import type { GenerateResponse, Target } from '#proto/inference/v1/inference.js';
import type { AttemptNote, Chosen } from './attempt-note.js';

/** A running attempt. */
export interface Run {
  readonly target: { readonly target: Target };
  readonly note: AttemptNote;
  readonly chosen: Chosen;
  readonly messages: AsyncIterator<GenerateResponse, void, undefined>;
  /** Notes that it failed. */
  fail(error: unknown): void;
  /** Cancels it, because another one answered, or the call is over. */
  cancel(): void;
}

/** How a race ended: with the first event of a run, or with the error of the last one. */
export type RaceResult<R extends Run> =
  | { readonly run: R; readonly first: GenerateResponse }
  | { readonly run: R; readonly error: unknown; readonly first?: undefined };

interface Step<R extends Run> {
  readonly run: R;
  readonly result?: IteratorResult<GenerateResponse, void>;
  readonly error?: unknown;
}

const lost = new AppError('cancelled', 'Another target answered first.');

/**
 * Returns the run that answers first: `first`, or the one that `startSecond` begins after `afterMs` (undefined if it begins none). If all
 * fail, returns the last error. Yields the messages that precede an answer, and the attempts that failed or lost.
 */
export async function* race<R extends Run>(
  first: R,
  afterMs: number,
  startSecond: () => Promise<R | undefined>,
): AsyncGenerator<GenerateResponse, RaceResult<R>, undefined> {
  const running = new Map<R, Promise<Step<R>>>([[first, stepOf(first)]]);
  let timer: NodeJS.Timeout | undefined;
  let late: Promise<undefined> | undefined = new Promise((resolve) => (timer = setTimeout(() => resolve(undefined), afterMs)));
  let winner: R | undefined;
  try {
    for (;;) {
      const step = await Promise.race(late === undefined ? running.values() : [...running.values(), late]);
      if (step === undefined) {
        late = undefined;
        const second = await startSecond();
        if (second !== undefined) running.set(second, stepOf(second));
        continue;
      }
      const { run, result, error } = step;
      if (result === undefined || result.done === true) {
        running.delete(run);
        // A failure is followed by another attempt immediately, so a hedge is no longer needed.
        late = undefined;
        const [other] = running.keys();
        if (other === undefined) {
          winner = run;
          return { run, error };
        }
        run.fail(error);
        yield run.note.failed(error, run.chosen, other.target.target, other.note.offsetMs);
      } else if (result.value.accepted !== undefined) {
        running.set(run, stepOf(run));
        yield result.value;
      } else {
        for (const loser of running.keys()) {
          if (loser === run) continue;
          loser.cancel();
          yield loser.note.failed(lost, loser.chosen, run.target.target, run.note.offsetMs);
        }
        winner = run;
        return { run, first: result.value };
      }
    }
  } finally {
    clearTimeout(timer);
    for (const run of running.keys()) if (run !== winner) run.cancel();
  }
}

function stepOf<R extends Run>(run: R): Promise<Step<R>> {
  return run.messages.next().then(
    (result) => ({ run, result }),
    (error: unknown) => ({ run, error }),
  );
}
