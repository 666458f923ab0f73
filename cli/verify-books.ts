// Verifies everything: records, prices, holds, balances and the journal.
import { callContext } from '#client/call-context.js';
import { pagesOf } from '#kit/pages.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { Drift, MeteringService } from '#proto/metering/v1/metering.js';
import { driftsOfBooks, driftView, type Verification } from './views/reconcile.js';

// Rebuilding all balances reads the whole journal.
const verifyTimeoutMs = 10 * 60_000;
const partTimeoutMs = 60_000;

/** Compares usage records, prices, holds, balances and the journal of one account, or of all if the id is empty. */
export async function verifyBooks(
  { metering, ledger }: { metering: Pick<MeteringService, 'reconcile'>; ledger: Pick<LedgerService, 'verify'> },
  accountId: string,
): Promise<Verification> {
  const caller = 'operator';
  const checked = { recordsChecked: 0n, holdsChecked: 0n, settlementsChecked: 0n };
  const drifts = new Map<string, Drift>();
  const parts = pagesOf((pageToken) =>
    metering.reconcile({ accountId, fromMs: 0n, untilMs: 0n, pageToken }, callContext({ caller, timeoutMs: partTimeoutMs })),
  );
  for await (const part of parts) {
    checked.recordsChecked += part.recordsChecked;
    checked.holdsChecked += part.holdsChecked;
    checked.settlementsChecked += part.settlementsChecked;
    // The same call can drift in several checks.
    for (const drift of part.drifts) drifts.set(JSON.stringify(driftView.json(drift)), drift);
  }
  const verified = await ledger.verify({ accountId }, callContext({ caller, timeoutMs: verifyTimeoutMs }));
  const { accountsChecked, entriesChecked, openHolds, sumNanoUsd } = verified;
  return { ...checked, accountsChecked, entriesChecked, openHolds, sumNanoUsd, drifts: [...drifts.values(), ...driftsOfBooks(verified)] };
}
