// Walks through everything, page by page: all records, then all holds, then everything in the outbox. A call that one source has lost is found in another.
import { AppError } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';
import { isId } from '#kit/id.js';
import { quarterMs } from '../rollups/shapes.js';
import type { Quarter } from '../store/sums/both-sides.js';
import { type Extent, queuedCallsAfter, type RecordedCall, recordedCallsAfter, recordedNames } from '../store/reconcile.js';
import { callsPerQuery, examine, type Findings, type ReconcileDeps } from './examine.js';
import type { CallName } from './judge.js';

const ledgerTimeoutMs = 30_000;

/** Holds the position of a reconcile run. `after` is where the previous page ended, in the format of the stage. */
interface Place {
  readonly stage: 'records' | 'holds' | 'settlements';
  readonly after: string;
}

/** Holds one page. */
export interface Page extends Findings {
  readonly recordsChecked: number;
  readonly holdsChecked: number;
  readonly settlementsChecked: number;
  /** The quarter hours that contain the page's records. */
  readonly quarters: readonly Quarter[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Examines the page of this token; empty for the first. The drifts are suspects until a second check. Raises invalid_request for an unknown token. */
export async function examinePage(extent: Extent, pageToken: string, deps: ReconcileDeps): Promise<Page> {
  const place = placeOf(pageToken);
  switch (place.stage) {
    case 'records': {
      const calls = await recordedCallsAfter(deps.db, extent, positionOf(place.after), callsPerQuery);
      const last = calls.at(-1)?.position;
      const next: Place =
        last === undefined || calls.length < callsPerQuery
          ? { stage: 'holds', after: '' }
          : { stage: 'records', after: `${last.startedAtMs} ${last.callId}` };
      return {
        ...nothing,
        ...(await examine(calls, deps)),
        recordsChecked: calls.length,
        quarters: quartersOf(calls),
        nextPageToken: tokenOf(next),
      };
    }
    case 'holds': {
      const { holds, nextPageToken } = await deps.ledger.listHolds(
        {
          accountId: extent.accountId,
          fromMs: BigInt(extent.fromMs),
          untilMs: BigInt(extent.untilMs),
          pageSize: callsPerQuery,
          pageToken: place.after,
        },
        callContext({ caller: 'metering', timeoutMs: ledgerTimeoutMs }),
      );
      // Calls that are on record were examined in the stage of the records.
      const recorded = await recordedNames(
        deps.db,
        holds.map(({ id }) => id),
      );
      const calls = holds
        .map(({ id, accountId }): CallName => ({ callId: id, accountId }))
        .filter(({ callId, accountId }) => recorded.get(callId) !== accountId);
      const next: Place = nextPageToken === '' ? { stage: 'settlements', after: '' } : { stage: 'holds', after: nextPageToken };
      return { ...nothing, ...(await examine(calls, deps)), holdsChecked: holds.length, nextPageToken: tokenOf(next) };
    }
    case 'settlements': {
      const calls = await queuedCallsAfter(deps.db, extent.accountId, place.after, callsPerQuery);
      const nextPageToken = calls.length < callsPerQuery ? '' : tokenOf({ stage: 'settlements', after: calls.at(-1)!.callId });
      return { ...nothing, ...(await examine(calls, deps)), settlementsChecked: calls.length, nextPageToken };
    }
  }
}

const nothing = { recordsChecked: 0, holdsChecked: 0, settlementsChecked: 0, quarters: [] };

function quartersOf(calls: readonly RecordedCall[]): Quarter[] {
  return calls.map(({ accountId, position }) => ({
    accountId,
    startMs: Number(position.startedAtMs - (position.startedAtMs % BigInt(quarterMs))),
  }));
}

function tokenOf({ stage, after }: Place): string {
  return Buffer.from(`${stage} ${after}`).toString('base64url');
}

function placeOf(token: string): Place {
  if (token === '') return { stage: 'records', after: '' };
  const match = /^(records|holds|settlements) (.*)$/.exec(Buffer.from(token, 'base64url').toString());
  const [, stage, after = ''] = match ?? [];
  if (stage === 'holds') return { stage, after };
  if (stage === 'settlements' && (after === '' || isId('req', after))) return { stage, after };
  if (stage === 'records' && (after === '' || positionOf(after) !== undefined)) return { stage, after };
  throw new AppError('invalid_request', 'page_token must be one that this service returned.', { details: { field: 'page_token' } });
}

function positionOf(after: string): { startedAtMs: bigint; callId: string } | undefined {
  const [, startedAtMs = '', callId = ''] = /^(\d{1,15}) (.*)$/.exec(after) ?? [];
  return isId('req', callId) ? { startedAtMs: BigInt(startedAtMs), callId } : undefined;
}
