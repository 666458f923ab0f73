// Limits the size of stored responses: per account, and in total.
import type { Clock } from '#kit/clock.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import type { MeteringConfig } from '../config.js';
import { keptBytesOf, keptBytesOfAll } from '../store/keyed-calls/stored-answers.js';

/** Maximum age of the sum over all accounts. */
const sumAgeMsMax = 5000;

/** Compares the size of stored responses with the limits. */
export class AnswerQuota {
  #sum = { bytes: 0, atMs: Number.NEGATIVE_INFINITY };

  constructor(private readonly deps: { readonly config: MeteringConfig; readonly clock: Clock }) {}

  /** Returns whose limit, or this share of it, would be exceeded by this many more bytes: that of the account or of the installation; undefined if neither. */
  async exceeded(tx: PlainTransaction, accountId: Buffer, bytes: number, share = 1): Promise<'account' | 'installation' | undefined> {
    const { config, clock } = this.deps;
    if ((await keptBytesOf(tx, accountId)) + bytes > share * config.keptBytesPerAccountMax) return 'account';
    const atMs = clock.monotonicMs();
    if (atMs - this.#sum.atMs > sumAgeMsMax) this.#sum = { bytes: await keptBytesOfAll(tx), atMs };
    return this.#sum.bytes + bytes > share * config.keptBytesMax ? 'installation' : undefined;
  }
}
