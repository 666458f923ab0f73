// The monthly statements of an account: each opens with the closing balance of the previous month.
import { Download } from 'lucide-react';
import { Link } from 'wouter';
import { listStatements, type Statement, statementCsvUrl } from '../../api/billing.js';
import { billingText } from '../../i18n/billing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Badge } from '../../ui/badge.js';
import { buttonClass } from '../../ui/button.js';
import { Card, Empty, Section } from '../../ui/layout.js';
import { DataTable } from '../../ui/table.js';
import { billingKey, Effect, Listed, useMonth } from './parts.js';

export function Months() {
  const t = useText(billingText);
  const account = useAccount();
  return (
    <Section title={t.statements} description={t.statementsAbout}>
      <Listed
        queryKey={billingKey(account.id, 'statements')}
        fetch={(cursor, signal) => listStatements(account.id, cursor, signal)}
        refetchInterval={liveMs}
      >
        {(pages) => <Table months={pages.flatMap(({ data }) => data)} />}
      </Listed>
    </Section>
  );
}

function Table({ months }: { months: readonly Statement[] }) {
  const t = useText(billingText);
  const account = useAccount();
  const month = useMonth();
  if (months.length === 0) return <Empty title={t.noStatements}>{t.noStatementsHint}</Empty>;
  return (
    <Card flush>
      <DataTable
        room="much"
        dense
        caption={t.statements}
        rows={months}
        rowKey={(each) => each.month}
        columns={[
          {
            name: t.month,
            cell: (each) => (
              <>
                <Link to={account.path(`/billing/statements/${each.month}`)} className="link">
                  {month(each.month)}
                </Link>{' '}
                {!each.is_closed && <Badge icon="waiting">{t.soFar}</Badge>}
              </>
            ),
          },
          { name: t.opening, usd: (each) => each.opening_usd },
          { name: t.deposits, usd: (each) => each.deposits_usd },
          {
            name: t.adjustments,
            usd: (each) => each.adjustments_usd,
            cell: (each, digits) => <Effect value={each.adjustments_usd} digits={digits} />,
          },
          { name: t.charges, usd: (each) => each.charges_usd },
          { name: t.refunds, usd: (each) => each.refunds_usd },
          { name: t.closing, usd: (each) => each.closing_usd },
          {
            name: t.csv,
            hideName: true,
            className: 'num',
            cell: (each) => (
              <a
                href={statementCsvUrl(account.id, each.month, 'csv')}
                download
                aria-label={t.csvOf({ month: month(each.month) })}
                className={buttonClass('ghost', 'small')}
              >
                <Download size={15} aria-hidden />
                {t.csv}
              </a>
            ),
          },
        ]}
      />
    </Card>
  );
}
