// Settles calls in the transaction that stores their records, where the ledger shares metering's database.
import { isDatabaseUnavailable, isRetryable } from '#kit/db/errors.js';
import type { PlainTransaction } from '#kit/db/plain/plain-transaction.js';
import type { SettleRequest } from '#proto/ledger/v1/ledger.js';
import type { SettleRecords } from '../store/records/close-calls.js';

/** The ledger's part of a transaction, as its module offers it. */
export type SettleInTransaction = (
  tx: PlainTransaction,
  requests: readonly SettleRequest[],
) => Promise<{
  /** What the ledger took, in the order of the requests; undefined where it refuses. */
  readonly captured: readonly ({ readonly capturedNanoUsd: bigint; readonly shortfallNanoUsd: bigint } | undefined)[];
  committed(): void;
}>;

/** Raised when the ledger's part fails. The records must then be stored without it, because a fault in the ledger must not lose them. */
export class NotSettled extends Error {
  constructor(cause: unknown) {
    super('The ledger could not settle calls in the transaction of their records.', { cause });
  }
}

/** Returns the function that settles new records. Settlements that the ledger refuses are left to the outbox, which keeps them for operators. */
export function settleWith(settleInTransaction: SettleInTransaction): SettleRecords {
  return async (tx, records) => {
    const requests = records.map(({ record: { call, chargeNanoUsd } }) => ({
      holdId: call.id,
      accountId: call.accountId,
      costNanoUsd: chargeNanoUsd,
      keyId: call.keyId,
    }));
    try {
      const { captured, committed } = await settleInTransaction(tx, requests);
      const settlements = captured.map((taken, index) =>
        taken === undefined
          ? undefined
          : {
              capturedNanoUsd: taken.capturedNanoUsd,
              shortfallNanoUsd: taken.shortfallNanoUsd,
              settledAtMs: records[index]!.record.recordedAtMs,
            },
      );
      return { settlements, committed };
    } catch (error) {
      throw isDatabaseUnavailable(error) || isRetryable(error) ? error : new NotSettled(error);
    }
  };
}
