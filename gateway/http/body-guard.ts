// Bounds the memory (in total and per account) and the time that request bodies take while they are read. A client could otherwise send large bodies
// almost to their end and hold their memory for minutes.
import { AppError } from '#client/errors/app-error.js';
import { InFlight } from '#client/in-flight.js';
import { everyAbout } from '#kit/scheduling/shared-timers.js';
import type { Occupancy } from './occupancy.js';

/** The limits of bodies that are being read. */
export interface BodyLimits {
  /** Bytes of all bodies together, decompressed. */
  readonly bodiesBytesMax: number;
  /** Bytes of the bodies of one account. */
  readonly bodiesBytesPerAccountMax: number;
  /** A client that sends less than this per second, over some seconds, is cut off. */
  readonly uploadBytesPerSecondMin: number;
}

/** A body that is being read. */
export interface GuardedBody {
  /** Counts bytes that have arrived. Throws overloaded if they exceed a limit. */
  add(bytes: number): void;
  /** Frees what the body was counted for. */
  end(): void;
}

/** Counts in these units: most bodies are shorter than one and are not counted at all. */
const unitBytes = 65_536;
const sweepMs = 1000;
/** A body must keep the rate over each period of this length. */
const periodMs = 5000;
const retryAfterMs = 1000;

interface Reading {
  readonly number: number;
  /** Bytes since the period began. */
  received: number;
  periodBeganMs: number;
  readonly cut: (error: AppError) => void;
}

/** Guards the bodies of one gateway. */
export class BodyGuard {
  readonly #reading = new InFlight<Reading>();
  readonly #stop: () => void;
  #sweptAtMs = performance.now();
  #last = 0;

  constructor(
    private readonly limits: BodyLimits,
    private readonly occupancy: Pick<Occupancy, 'bodyUnits' | 'bodyUnitsOf' | 'countBody'>,
  ) {
    this.#stop = everyAbout(sweepMs, () => this.#sweep());
  }

  /** Begins to read a body of this account; empty for requests without a key. `cut` ends the reading with an error if the client is too slow. */
  begin(accountId: string, cut: (error: AppError) => void): GuardedBody {
    const reading = { number: (this.#last += 1), received: 0, periodBeganMs: performance.now(), cut };
    this.#reading.set(reading.number, reading);
    let total = 0;
    let units = 0;
    return {
      add: (bytes) => {
        reading.received += bytes;
        total += bytes;
        const more = Math.floor(total / unitBytes) - units;
        if (more === 0) return;
        this.#assertRoom(accountId, more);
        this.occupancy.countBody(accountId, more);
        units += more;
      },
      end: () => {
        this.#reading.delete(reading.number);
        if (units > 0) this.occupancy.countBody(accountId, -units);
        units = 0;
      },
    };
  }

  /** Ends the checks of the rate. */
  stop(): void {
    this.#stop();
  }

  #assertRoom(accountId: string, units: number): void {
    const { bodiesBytesMax, bodiesBytesPerAccountMax } = this.limits;
    if ((this.occupancy.bodyUnits() + units) * unitBytes > bodiesBytesMax)
      throw new AppError('overloaded', 'The gateway is reading as many request bytes as its limit allows. Try again shortly.', {
        retryAfterMs,
      });
    if ((this.occupancy.bodyUnitsOf(accountId) + units) * unitBytes > bodiesBytesPerAccountMax) {
      throw new AppError(
        'overloaded',
        `Your account is sending more than ${bodiesBytesPerAccountMax} bytes of requests at the same time. Try again when some requests have been received.`,
        { retryAfterMs },
      );
    }
  }

  #sweep(): void {
    const nowMs = performance.now();
    // While this process was busy it read nothing, which is not the clients' fault.
    const wasBusy = nowMs - this.#sweptAtMs > 2 * sweepMs;
    this.#sweptAtMs = nowMs;
    for (const reading of this.#reading.values()) {
      if (nowMs - reading.periodBeganMs < periodMs && !wasBusy) continue;
      const least = this.limits.uploadBytesPerSecondMin * ((nowMs - reading.periodBeganMs) / 1000);
      if (!wasBusy && reading.received < least) {
        this.#reading.delete(reading.number);
        reading.cut(
          new AppError(
            'upload_too_slow',
            `The body arrived at less than ${this.limits.uploadBytesPerSecondMin} bytes per second. Send it faster, or send less.`,
          ),
        );
        continue;
      }
      reading.received = 0;
      reading.periodBeganMs = nowMs;
    }
  }
}
