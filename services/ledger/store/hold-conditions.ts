// Conditions on holds, as literals: SQLite uses a partial index only for a query that contains the index's own condition.
import { HoldState } from '#proto/ledger/v1/ledger.js';

/** Money is set aside for the call. */
export const isOpen = `state = ${HoldState.HOLD_STATE_OPEN}`;

/** The hold ended and moved no money. */
export const endedWithoutEntry = `last_seq = 0 AND state <> ${HoldState.HOLD_STATE_OPEN}`;
