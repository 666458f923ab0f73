// The printable receipt of a deposit.
import { useQuery } from '@tanstack/react-query';
import { Printer } from 'lucide-react';
import { useParams } from 'wouter';
import { getReceipt } from '../../api/billing.js';
import { useTime } from '../../format/time.js';
import { billingText } from '../../i18n/billing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { Card, Facts, PageHeader } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { Usd } from '../../ui/values.js';
import { billingKey } from './parts.js';

export default function ReceiptPage() {
  const t = useText(billingText);
  const account = useAccount();
  const time = useTime();
  const { entry = '' } = useParams<{ entry: string }>();
  const query = useQuery({
    queryKey: billingKey(account.id, 'receipt', entry),
    queryFn: ({ signal }) => getReceipt(account.id, entry, signal),
  });
  return (
    <>
      <PageHeader
        title={query.data === undefined ? t.receipt : t.receiptTitle({ number: query.data.number })}
        back={[account.path('/billing'), t.title]}
        actions={
          <Button look="primary" onClick={() => window.print()}>
            <Printer size={16} aria-hidden />
            {t.print}
          </Button>
        }
      />
      <Fetched query={query}>
        {(receipt) => (
          <Card className="max-w-2xl">
            <Facts
              facts={[
                [t.receiptNumber, receipt.number],
                [t.date, time.full(receipt.created_at)],
                [t.account, `${receipt.account.name} (${receipt.account.id})`],
                [t.amount, <Usd exact key="amount" value={receipt.amount_usd} />],
                [t.source, t[receipt.source]],
                receipt.reference !== null && [t.reference, receipt.reference],
                receipt.reason !== null && [t.note, receipt.reason],
                ...receipt.corrections.map(
                  ({ id, kind, number, created_at, effect_usd }) =>
                    [
                      t.correctedOn({ kind: t[kind], entry: number, day: time.full(created_at) }),
                      <Usd exact key={id} value={effect_usd} />,
                    ] as const,
                ),
                [t.balanceAfter, <Usd exact key="balance" value={receipt.balance_after_usd} />],
                [t.issuedBy, `Tollgate, ${location.host}`],
              ]}
            />
            <p className="mt-4 border-t border-line pt-3 text-sm text-soft">{t.receiptFooter}</p>
          </Card>
        )}
      </Fetched>
    </>
  );
}
