// The deposits, each with its receipt.
import { Link } from 'wouter';
import { listDeposits } from '../../api/billing.js';
import { usdText } from '../../format/money.js';
import { useTime } from '../../format/time.js';
import { billingText } from '../../i18n/billing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Card, Section } from '../../ui/layout.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { billingKey, Listed } from './parts.js';

export function Deposits() {
  const t = useText(billingText);
  const account = useAccount();
  const time = useTime();
  return (
    <Section title={t.depositsTitle}>
      <Listed
        queryKey={billingKey(account.id, 'deposits')}
        fetch={(cursor, signal) => listDeposits(account.id, cursor, signal)}
        refetchInterval={liveMs}
      >
        {(pages) => {
          const deposits = pages.flatMap(({ data }) => data);
          if (deposits.length === 0) return <p className="text-soft">{t.noDeposits}</p>;
          return (
            <Card flush>
              <DataTable
                caption={t.depositsTitle}
                dense
                className="two-lines"
                rows={deposits}
                rowKey={({ id }) => id}
                columns={[
                  { name: t.date, className: 'line-1 grow', cell: ({ created_at }) => <When at={created_at} /> },
                  { name: t.source, cell: ({ source }) => source !== null && t[source] },
                  { name: t.note, className: 'line-2 cut widest', cell: ({ reason }) => <span title={reason ?? undefined}>{reason}</span> },
                  { name: t.amount, className: 'line-1', usd: ({ amount_usd }) => amount_usd },
                  { name: t.balanceAfter, usd: ({ balance_after_usd }) => balance_after_usd },
                  {
                    name: t.receipt,
                    hideName: true,
                    className: 'line-2 num',
                    cell: ({ id, amount_usd, created_at }) => (
                      <Link
                        to={account.path(`/billing/receipts/${id}`)}
                        className="link"
                        aria-label={t.receiptOf({ usd: usdText(amount_usd), day: time.day(created_at) })}
                      >
                        {t.receipt}
                      </Link>
                    ),
                  },
                ]}
              />
            </Card>
          );
        }}
      </Listed>
    </Section>
  );
}
