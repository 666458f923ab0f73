// The funds held by calls in flight, live.
import { listHolds } from '../../api/billing.js';
import { billingText } from '../../i18n/billing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Card, Section } from '../../ui/layout.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { billingKey, KeyLink, Listed, useSeconds } from './parts.js';

export function Holds() {
  const t = useText(billingText);
  const account = useAccount();
  useSeconds();
  return (
    <Section title={t.holds} description={t.holdsAbout}>
      <Listed
        queryKey={billingKey(account.id, 'holds')}
        fetch={(cursor, signal) => listHolds(account.id, cursor, signal)}
        refetchInterval={liveMs}
      >
        {(pages) => {
          const holds = pages.flatMap(({ data }) => data);
          if (holds.length === 0) return <p className="text-soft">{t.noHolds}</p>;
          return (
            <Card flush>
              <DataTable
                caption={t.holds}
                rows={holds}
                rowKey={({ request_id }) => request_id}
                columns={[
                  { name: t.request, cell: ({ request_id }) => <code className="wrap-anywhere">{request_id}</code> },
                  { name: t.key, cell: ({ key_id }) => <KeyLink keyId={key_id} /> },
                  { name: t.since, cell: ({ created_at }) => <When at={created_at} style="relative" /> },
                  { name: t.freedAt, cell: ({ expires_at }) => <When at={expires_at} style="relative" /> },
                  { name: t.usedSoFar, usd: ({ used_so_far_usd }) => used_so_far_usd },
                  { name: t.amount, usd: ({ amount_usd }) => amount_usd },
                ]}
              />
            </Card>
          );
        }}
      </Listed>
    </Section>
  );
}
