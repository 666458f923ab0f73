// Adds funds: opens the provider's page, and waits until the deposit is in the journal. Absent if payments are not configured.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { CreditCard } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Link, useLocation, useSearch } from 'wouter';
import { newIdempotencyKey } from '../../api/client.js';
import { beginPayment, getPayment, getPaymentOptions, type PaymentOptions } from '../../api/payments.js';
import { nanoUsdOf, typedUsd, usdText } from '../../format/money.js';
import { alertsText } from '../../i18n/alerts.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Section } from '../../ui/layout.js';
import { fieldError, FormError, Notice } from '../../ui/notice.js';
import { faultOf, QueryFault } from '../../ui/query.js';
import { billingKey } from './parts.js';

const usualAmounts = ['10', '25', '50', '100'] as const;

export function AddMoney() {
  const account = useAccount();
  const { data } = useQuery({
    queryKey: ['payments', account.id],
    queryFn: ({ signal }) => getPaymentOptions(account.id, signal),
    staleTime: 60_000,
  });
  if (data === undefined || data.provider === null) return null;
  return (
    <>
      <Returned />
      {account.can('change money') && <AddMoneyForm options={data} provider={data.provider} />}
    </>
  );
}

/** The result of the payment from which the user has just returned, as in the address. */
function Returned() {
  const t = useText(alertsText);
  const account = useAccount();
  const [, navigate] = useLocation();
  const payment = new URLSearchParams(useSearch()).get('payment');
  if (payment === null) return null;
  const dismiss = (
    <Button size="small" onClick={() => navigate(account.path('/billing'), { replace: true })}>
      {t.dismiss}
    </Button>
  );
  if (payment === 'cancelled') {
    return (
      <Notice live action={dismiss}>
        {t.cancelled}
      </Notice>
    );
  }
  return <Awaited paymentId={payment} dismiss={dismiss} />;
}

function Awaited({ paymentId, dismiss }: { paymentId: string; dismiss: React.ReactNode }) {
  const t = useText(alertsText);
  const account = useAccount();
  const client = useQueryClient();
  const query = useQuery({
    queryKey: ['payments', account.id, paymentId],
    queryFn: ({ signal }) => getPayment(account.id, paymentId, signal),
    refetchInterval: ({ state }) => (state.data?.state === 'paid' ? false : liveMs),
  });
  const isPaid = query.data?.state === 'paid';
  useEffect(() => {
    if (!isPaid) return;
    void client.invalidateQueries({ queryKey: billingKey(account.id) });
    void client.invalidateQueries({ queryKey: ['balance', account.id] });
  }, [isPaid, client, account.id]);
  if (faultOf(query) !== null) return <QueryFault query={query} />;
  const { amount_usd: amount = null, entry = null } = query.data ?? {};
  if (amount === null || entry === null) {
    return (
      <Notice live title={t.waiting}>
        {t.waitingAbout}
      </Notice>
    );
  }
  return (
    <Notice tone="good" live action={dismiss}>
      {t.paid({ usd: usdText(amount) })}{' '}
      <Link to={account.path(`/billing/receipts/${entry.id}`)} className="link">
        {t.receipt}
      </Link>
    </Notice>
  );
}

/** Display names of providers. */
const providerName = (provider: string): string => provider.charAt(0).toUpperCase() + provider.slice(1);

function AddMoneyForm({ options: { min_usd: min, max_usd: max }, provider }: { options: PaymentOptions; provider: string }) {
  const t = useText(alertsText);
  const account = useAccount();
  const [amount, setAmount] = useState('');
  const [key, setKey] = useState(newIdempotencyKey);
  const begin = useMutation({
    mutationFn: () => beginPayment(account.id, typedUsd(amount), key),
    onSuccess: ({ url }) => {
      // A user who returns to this page with the browser's Back button wants another payment.
      setKey(newIdempotencyKey());
      location.assign(url);
    },
  });
  const offered = usualAmounts.filter((each) => nanoUsdOf(each) >= nanoUsdOf(min) && nanoUsdOf(each) <= nanoUsdOf(max));
  return (
    <Section title={t.addTitle} description={t.addAbout}>
      <FormError error={begin.error} fields={['amount_usd']} />
      <Card>
        <Form onSubmit={() => begin.mutate()} className="flex flex-wrap items-start gap-3">
          <TextField
            label={t.amount}
            hint={t.amountHint({ min: usdText(min), max: usdText(max) })}
            error={fieldError(begin.error, 'amount_usd')}
            className="min-w-0 flex-1 basis-56"
            value={amount}
            onChange={(event) => setAmount(event.target.value)}
            inputMode="decimal"
            required
          />
          <div className="flex flex-wrap gap-2 sm:mt-6">
            {offered.map((each) => (
              <Button key={each} aria-pressed={amount === each} onClick={() => setAmount(each)}>
                {usdText(each)}
              </Button>
            ))}
            <Button type="submit" look="primary" busy={begin.isPending}>
              <CreditCard size={16} aria-hidden />
              {begin.isPending ? t.leaving : t.pay({ provider: providerName(provider) })}
            </Button>
          </div>
        </Form>
      </Card>
    </Section>
  );
}
