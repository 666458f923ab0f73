// Judges one call by all that metering and the ledger know about it. Pure.
import { type Hold, HoldState } from '#proto/ledger/v1/ledger.js';
import { priceList } from '#rules/money/pricing.js';
import { type Drift, DriftCheck, type Settlement, type UsageRecord } from '#proto/metering/v1/metering.js';
import type { DatedPrice } from './price-book.js';

/** The ledger's sweeper runs every second; a hold that is open this long after its expiry was missed. */
const overdueMs = 60_000;

/** Allowed difference between the ledger's clock and ours, and between the parts of one call. */
const marginMs = 3_600_000;

/** Names a call. */
export interface CallName {
  readonly callId: string;
  readonly accountId: string;
}

/** Holds a charge that waits for the ledger. */
export interface QueuedCharge {
  readonly chargeNanoUsd: bigint;
  /** Whether the ledger refused it permanently. */
  readonly isRefused: boolean;
  /** Whether it is not sent until gateways have had time to report the lost call. */
  readonly isDeferred: boolean;
}

/** Holds all that is known about a call. The records and the outbox were read before the hold. */
export interface Evidence extends CallName {
  /** Undefined if this account has none. */
  readonly record: UsageRecord | undefined;
  /** Undefined if the outbox has none. */
  readonly queued: QueuedCharge | undefined;
  /** Whether an operator closed the charge. */
  readonly isClosed: boolean;
  /** Whether it is known as a call in flight, so that a record is still expected. */
  readonly isInFlight: boolean;
  readonly hold: Hold | undefined;
  /** The price version that the catalog has under the id in the record; undefined if none. */
  readonly price: DatedPrice | undefined;
}

/** Holds the rules by which a call is judged. */
export interface Rules {
  readonly nowMs: number;
  /** How long a charge may wait for the ledger, and an ended hold for its record. */
  readonly unsettledMs: number;
  /** Since when gateways have had time to report lost calls. */
  readonly reportableSinceMs: number;
  /** Holds that ended before this may be in the ledger's archive; minus infinity if it has none. */
  readonly holdsArchivedUntilMs: number;
  /** Records of calls that started before this may be in metering's archive; 0 if it has none. */
  readonly recordsArchivedUntilMs: number;
}

/** Holds the result of judging a call. */
export interface Judgement {
  readonly drifts: readonly Drift[];
  /** False while the call, or its settlement, is in progress, so that it must be checked again. */
  readonly isFinished: boolean;
}

/** Compares all the data about a call. A call in progress is not a drift. */
export function judge(evidence: Evidence, rules: Rules): Judgement {
  const { callId, accountId, record, hold } = evidence;
  const drifts: Drift[] = [];
  const add: Add = (check, what, stored, expected) => void drifts.push({ check, accountId, callId, subject: what, stored, expected });
  const isOpen = hold?.state === HoldState.HOLD_STATE_OPEN;
  const isOverdue = isOpen && Number(hold.expiresAtMs) + overdueMs < rules.nowMs;
  if (isOverdue) add(DriftCheck.DRIFT_CHECK_HOLD_OVERDUE, 'held after its expiry', hold.amountNanoUsd, 0n);
  const isSettling = record === undefined ? judgeUnrecorded(evidence, rules, add) : judgeRecorded(evidence, record, rules, add);
  return { drifts, isFinished: !isSettling && (!isOpen || isOverdue) };
}

type Add = (check: DriftCheck, what: string, stored: bigint, expected: bigint) => void;

/** Returns true while a record may still arrive. */
function judgeUnrecorded({ queued, hold, isInFlight }: Evidence, { nowMs, unsettledMs, recordsArchivedUntilMs }: Rules, add: Add): boolean {
  if (queued !== undefined) add(DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'charge that waits without a record', queued.chargeNanoUsd, 0n);
  if (hold === undefined || hold.state === HoldState.HOLD_STATE_OPEN) return false;
  if (Number(hold.createdAtMs) < recordsArchivedUntilMs + marginMs) return false;
  const takenNanoUsd = hold.capturedNanoUsd + hold.shortfallNanoUsd;
  if (hold.state === HoldState.HOLD_STATE_SETTLED) {
    // Only recorded calls are ever settled.
    add(DriftCheck.DRIFT_CHECK_RECORD_MISSING, 'settled without a record', takenNanoUsd, 0n);
    return false;
  }
  if (takenNanoUsd === 0n) return false;
  const mayYetBeRecorded = isInFlight || Number(hold.expiresAtMs) + unsettledMs >= nowMs;
  if (!mayYetBeRecorded)
    add(DriftCheck.DRIFT_CHECK_RECORD_MISSING, `captured by a hold that ${wordOf(hold.state)} without a record`, takenNanoUsd, 0n);
  return mayYetBeRecorded;
}

/** Returns true while the record's charge waits for the ledger. */
function judgeRecorded(evidence: Evidence, record: UsageRecord, rules: Rules, add: Add): boolean {
  const { chargeNanoUsd, settlement } = record;
  const recomputedNanoUsd = record.lineItems.reduce((sum, item) => sum + item.amountNanoUsd, 0n);
  if (chargeNanoUsd !== recomputedNanoUsd) add(DriftCheck.DRIFT_CHECK_CHARGE, 'charge', chargeNanoUsd, recomputedNanoUsd);
  judgePrice(record, evidence.price, add);
  if (settlement !== undefined) {
    judgeSettlement(evidence, record, settlement, rules, add);
    return false;
  }
  return !evidence.isClosed && judgeUnsettled(evidence, record, rules, add);
}

function judgePrice({ call }: UsageRecord, known: DatedPrice | undefined, add: Add): void {
  const onRecord = call?.price;
  const inCatalog = known?.price;
  if (call === undefined || onRecord === undefined || inCatalog === undefined) {
    add(DriftCheck.DRIFT_CHECK_PRICE, `price version ${onRecord?.id ?? ''} that the catalog does not know`, 0n, 0n);
    return;
  }
  const { effectiveFromMs } = onRecord;
  if (effectiveFromMs !== inCatalog.effectiveFromMs)
    add(DriftCheck.DRIFT_CHECK_PRICE, 'start of the price', effectiveFromMs, inCatalog.effectiveFromMs);
  judgeAmounts(priceList(onRecord), priceList(inCatalog), add);
  if (onRecord.modelId !== inCatalog.modelId)
    add(DriftCheck.DRIFT_CHECK_PRICE, `price of ${onRecord.modelId}, published for ${inCatalog.modelId}`, 0n, 0n);
  const { startedAtMs } = call;
  if (startedAtMs < inCatalog.effectiveFromMs)
    add(DriftCheck.DRIFT_CHECK_PRICE, 'start of a call whose price began later', startedAtMs, inCatalog.effectiveFromMs);
  if (known?.untilMs !== undefined && startedAtMs >= known.untilMs)
    add(DriftCheck.DRIFT_CHECK_PRICE, 'start of a call whose price had ended', startedAtMs, known.untilMs);
}

type Prices = ReturnType<typeof priceList>;

function judgeAmounts(onRecord: Prices, inCatalog: Prices, add: Add): void {
  const isSame = (price: Prices[number], index: number): boolean =>
    price.unit === onRecord[index]!.unit && price.nanoUsd === onRecord[index]!.nanoUsd;
  if (onRecord.length === inCatalog.length && inCatalog.every(isSame)) return;
  const published = new Map(inCatalog.map(({ unit, nanoUsd }) => [unit, nanoUsd]));
  const recorded = new Map(onRecord.map(({ unit, nanoUsd }) => [unit, nanoUsd]));
  for (const unit of new Set([...published.keys(), ...recorded.keys()])) {
    // -1 means that a unit has no price of its own.
    const [stored, expected] = [recorded.get(unit) ?? -1n, published.get(unit) ?? -1n];
    if (stored !== expected) add(DriftCheck.DRIFT_CHECK_PRICE, `${unit.replaceAll('_', ' ')} price`, stored, expected);
  }
}

function judgeSettlement(
  { hold }: Evidence,
  { call, chargeNanoUsd }: UsageRecord,
  settlement: Settlement,
  { holdsArchivedUntilMs }: Rules,
  add: Add,
): void {
  const { capturedNanoUsd, shortfallNanoUsd } = settlement;
  if (capturedNanoUsd + shortfallNanoUsd !== chargeNanoUsd)
    add(DriftCheck.DRIFT_CHECK_SETTLEMENT, 'captured and shortfall on record', capturedNanoUsd + shortfallNanoUsd, chargeNanoUsd);
  if (hold === undefined) {
    // The ledger may have ended the hold long before metering stored the settlement, for example if the database was restored in between.
    if (call === undefined || Number(call.startedAtMs) < holdsArchivedUntilMs + marginMs) return;
    add(DriftCheck.DRIFT_CHECK_HOLD, 'hold of a settled call, which is missing', 0n, chargeNanoUsd);
    return;
  }
  // The ledger counts later refunds separately, so these stay as they were at the settlement.
  if (hold.capturedNanoUsd !== capturedNanoUsd)
    add(DriftCheck.DRIFT_CHECK_HOLD, 'captured by the hold', hold.capturedNanoUsd, capturedNanoUsd);
  if (hold.shortfallNanoUsd !== shortfallNanoUsd)
    add(DriftCheck.DRIFT_CHECK_HOLD, 'shortfall of the hold', hold.shortfallNanoUsd, shortfallNanoUsd);
  // A hold that was released before it had cost anything stays released when the call turns out to be free.
  const mayBeReleased = chargeNanoUsd === 0n && hold.state === HoldState.HOLD_STATE_RELEASED;
  if (hold.state !== HoldState.HOLD_STATE_SETTLED && !mayBeReleased) {
    add(
      DriftCheck.DRIFT_CHECK_HOLD,
      `state of the hold of a settled call: ${wordOf(hold.state)}`,
      BigInt(hold.state),
      BigInt(HoldState.HOLD_STATE_SETTLED),
    );
  }
  if (call === undefined || mayBeReleased) return;
  if (hold.keyId !== call.keyId) add(DriftCheck.DRIFT_CHECK_HOLD, `key of the hold: ${hold.keyId}, of the record: ${call.keyId}`, 0n, 0n);
  // A hold that the ledger had lost was recreated by its settlement, without an amount.
  if (hold.amountNanoUsd !== call.heldNanoUsd && hold.amountNanoUsd !== 0n)
    add(DriftCheck.DRIFT_CHECK_HOLD, 'amount of the hold', hold.amountNanoUsd, call.heldNanoUsd);
}

function judgeUnsettled(
  { queued }: Evidence,
  { chargeNanoUsd, recordedAtMs }: UsageRecord,
  { nowMs, unsettledMs, reportableSinceMs }: Rules,
  add: Add,
): boolean {
  if (queued === undefined) {
    add(DriftCheck.DRIFT_CHECK_OUTBOX_LOST, 'charge that is neither settled nor waiting', 0n, chargeNanoUsd);
    return false;
  }
  if (queued.chargeNanoUsd !== chargeNanoUsd)
    add(DriftCheck.DRIFT_CHECK_CHARGE, 'charge that waits for the ledger', queued.chargeNanoUsd, chargeNanoUsd);
  if (queued.isRefused) {
    add(DriftCheck.DRIFT_CHECK_REJECTED, 'charge that the ledger refused', 0n, chargeNanoUsd);
    return false;
  }
  const waitsSinceMs = queued.isDeferred ? Math.max(reportableSinceMs, Number(recordedAtMs)) : Number(recordedAtMs);
  const isLate = waitsSinceMs + unsettledMs < nowMs;
  if (isLate) add(DriftCheck.DRIFT_CHECK_UNSETTLED, 'charge that has waited too long', 0n, chargeNanoUsd);
  return !isLate;
}

function wordOf(state: HoldState): string {
  return (HoldState[state] ?? String(state)).replace('HOLD_STATE_', '').toLowerCase();
}

/** Returns the key under which a drift is known; two drifts with the same key are the same. */
export function identityOf({ check, accountId, callId, subject: what }: Drift): string {
  return `${check} ${accountId} ${callId} ${what}`;
}

/** Returns the drifts without duplicates, since a call can be found in several ways. */
export function distinct(drifts: readonly Drift[]): Drift[] {
  return [...new Map(drifts.map((drift) => [identityOf(drift), drift])).values()];
}
