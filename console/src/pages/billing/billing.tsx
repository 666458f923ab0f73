// Balance and billing: the current balance, holds of calls in flight, statements, deposits, and codes.
import { billingText } from '../../i18n/billing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { useBalance } from '../../shell/balance-pill.js';
import { PageHeader, Stat, Stats } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { Usd } from '../../ui/values.js';
import { AddMoney } from './add-money.js';
import { Alerts } from './alerts.js';
import { Deposits } from './deposits.js';
import { Holds } from './holds.js';
import { Months } from './months.js';
import { Redeem } from './redeem.js';

export default function Billing() {
  const t = useText(billingText);
  return (
    <>
      <PageHeader title={t.title} />
      <Balance />
      <AddMoney />
      <Redeem />
      <Months />
      <Holds />
      <Deposits />
      <Alerts />
    </>
  );
}

function Balance() {
  const t = useText(billingText);
  return (
    <Fetched query={useBalance(useAccount().id)}>
      {(balance) => (
        <Stats>
          <Stat label={t.available} value={<Usd value={balance.available_usd} />} hint={t.availableHint} />
          <Stat label={t.held} value={<Usd value={balance.held_usd} />} hint={t.heldHint} />
          <Stat label={t.settled} value={<Usd value={balance.settled_usd} />} hint={t.settledHint} />
        </Stats>
      )}
    </Fetched>
  );
}
