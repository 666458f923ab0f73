// Home: the balance, how long it lasts, what it is spent on, and which calls failed. A new account first sees the checklist.
import { useQuery } from '@tanstack/react-query';
import { listRecords } from '../../api/usage.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { PageHeader } from '../../ui/layout.js';
import { Checklist } from './checklist.js';
import { LatestErrors } from './latest-errors.js';
import { Money } from './money.js';
import { Refused } from './refused.js';
import { Spend } from './spend.js';
import { TopKeys, TopModels } from './top.js';

export default function HomePage() {
  const account = useAccount();
  const t = useText(homeText);
  // The checklist uses the same query. Until its result is known, and if there are no calls, the checklist is shown first.
  const calls = useQuery({
    queryKey: ['usage', account.id, 'first'],
    queryFn: ({ signal }) => listRecords(account.id, { limit: 1 }, signal),
  });
  const hasCalls = calls.data?.data.length === 1;
  return (
    <>
      <PageHeader title={t.title} description={account.name} />
      <Refused />
      {hasCalls && <Spend />}
      {account.can('look') && account.can('change keys') && <Checklist key={account.id} />}
      {account.can('look') && <Money />}
      <div className="grid gap-x-6 lg:grid-cols-2">
        <TopModels />
        <TopKeys />
      </div>
      <LatestErrors />
    </>
  );
}
