// What happened to the hold of a call: the held, captured, released and refunded amounts.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { ApiError } from '../../../api/client.js';
import { getRecordHold, type UsageRecord } from '../../../api/usage.js';
import { nanoUsdOf, usdOfNano } from '../../../format/money.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { Section } from '../../../ui/layout.js';
import { ErrorNotice } from '../../../ui/notice.js';
import { Usd, When } from '../../../ui/values.js';

interface Step {
  readonly name: string;
  readonly at: string | null;
  readonly amount?: string;
  readonly hint?: ReactNode;
}

export function RecordMoney({ record }: { record: UsageRecord }) {
  const t = useText(usageText);
  const account = useAccount();
  const { request_id: requestId, settlement } = record;
  const hold = useQuery({
    queryKey: ['usage', account.id, 'hold', requestId, settlement !== null],
    queryFn: ({ signal }) => getRecordHold(account.id, requestId, signal),
  });
  // The ledger archives old holds; the record still has the held and captured amounts.
  const isArchived = hold.error instanceof ApiError && hold.error.code === 'not_found';
  const endedAt = new Date(Date.parse(record.started_at) + record.duration_ms).toISOString();
  const refunded = hold.data?.refunded_usd ?? '0';
  const steps: Step[] = [
    { name: t.held, at: hold.data?.created_at ?? record.started_at, amount: record.held_usd, hint: t.heldHint },
    { name: t.ended, at: endedAt },
    ...(settlement === null
      ? [{ name: t.waitingSettle, at: null, hint: t.waitingSettleHint }]
      : [
          {
            name: t.settled,
            at: settlement.settled_at,
            amount: settlement.captured_usd,
            hint: settlement.captured_usd === '0' ? t.freeHint : t.settledHint,
          },
          {
            name: t.released,
            at: settlement.settled_at,
            amount: usdOfNano(nanoUsdOf(record.held_usd) - nanoUsdOf(settlement.captured_usd)),
            hint: t.releasedHint,
          },
          ...(settlement.shortfall_usd === '0'
            ? []
            : [{ name: t.shortfall, at: settlement.settled_at, amount: settlement.shortfall_usd, hint: t.shortfallHint }]),
          ...(refunded === '0' ? [] : [{ name: t.refunded, at: null, amount: refunded, hint: t.refundedHint }]),
        ]),
  ];
  return (
    <Section title={t.money}>
      {hold.error !== null && !isArchived && <ErrorNotice error={hold.error} onRetry={() => void hold.refetch()} />}
      <ol className="border-l-2 border-line">
        {steps.map((step) => (
          <li
            key={step.name}
            className="relative mb-3 pl-4 before:absolute before:top-2 before:-left-[5px] before:size-2 before:rounded-full before:bg-accent"
          >
            <div className="flex flex-wrap items-baseline justify-between gap-x-4">
              <span className="font-medium">{step.name}</span>
              {step.amount !== undefined && <Usd exact value={step.amount} />}
            </div>
            <p className="text-sm text-soft">
              {step.at !== null && <When at={step.at} style="second" />}
              {step.at !== null && step.hint !== undefined && ' · '}
              {step.hint}
            </p>
          </li>
        ))}
      </ol>
      {account.can('look') && settlement !== null && settlement.captured_usd !== '0' && (
        <Link className="link text-sm" to={account.path(`/billing/statements/${settlement.settled_at.slice(0, 7)}`)}>
          {t.inStatement}
        </Link>
      )}
    </Section>
  );
}
