// An account's current months, read without locks.
import { fault } from '#client/errors/fault.js';
import { minuteMs } from '#kit/clock.js';
import type { Statement } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { figuresOf, monthAt, type MonthFigures, monthText, startOfMonthMs } from './months.js';

/** An entry has the time at which its transaction began, which may wait five seconds for a locked account in each of ten tries before it commits. */
const commitMsMax = minuteMs;

/** Returns the months, oldest first, and a function that renders one as a statement. */
export async function statementsOf(
  accountId: string,
  deps: Pick<RpcDeps, 'reads' | 'months' | 'clock' | 'config'>,
): Promise<{ months: MonthFigures[]; render: (figures: MonthFigures) => Statement }> {
  const { reads, months, clock, config } = deps;
  // The account is read before its months, so entries made in between belong to neither.
  const account = await reads.account(accountId);
  const nowMs = clock.nowMs();
  const figures = account === undefined ? [] : figuresOf(account, await months.openings(accountId), monthAt(nowMs));
  const archivedSeq = await reads.baseSeq(accountId);
  const newest = figures.findLast(({ firstSeq, endSeq }) => endSeq > firstSeq)?.month ?? 0;
  const render = (month: MonthFigures): Statement => {
    const untilMs = startOfMonthMs(month.month + 1);
    return {
      accountId,
      month: monthText(month.month),
      fromMs: BigInt(startOfMonthMs(month.month)),
      untilMs: BigInt(untilMs),
      openingNanoUsd: month.openingNanoUsd,
      depositsNanoUsd: month.depositsNanoUsd,
      adjustmentsNanoUsd: month.adjustmentsNanoUsd,
      chargesNanoUsd: month.chargesNanoUsd,
      refundsNanoUsd: month.refundsNanoUsd,
      closingNanoUsd: month.closingNanoUsd,
      entries: month.endSeq - month.firstSeq,
      hasArchivedEntries: month.endSeq > month.firstSeq && archivedSeq >= month.firstSeq,
      // The clock of another process may be behind ours by up to the skew.
      isClosed: newest > month.month || nowMs >= untilMs + config.clockSkewMs + commitMsMax,
    };
  };
  return { months: figures, render };
}

/** Returns the figures of a month. Raises not_found. */
export function monthIn(months: readonly MonthFigures[], month: number): MonthFigures {
  const found = months.find((figures) => figures.month === month);
  if (found === undefined) throw fault('no_statement', { month: monthText(month) }, { details: { what: 'statement' } });
  return found;
}
