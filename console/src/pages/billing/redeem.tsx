// Redeems a code.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Ticket } from 'lucide-react';
import { useState } from 'react';
import { Link } from 'wouter';
import { redeemCode } from '../../api/billing.js';
import { usdText } from '../../format/money.js';
import { billingText } from '../../i18n/billing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Section } from '../../ui/layout.js';
import { fieldError, FormError, Notice } from '../../ui/notice.js';
import { billingKey } from './parts.js';

export function Redeem() {
  const t = useText(billingText);
  const account = useAccount();
  const client = useQueryClient();
  const [code, setCode] = useState('');
  const redeem = useMutation({
    // Redeeming the same code again for the same account changes nothing, so no idempotency key is needed.
    mutationFn: () => redeemCode(account.id, code.trim()),
    onSuccess: async () => {
      setCode('');
      await Promise.all([
        client.invalidateQueries({ queryKey: billingKey(account.id) }),
        client.invalidateQueries({ queryKey: ['balance', account.id] }),
      ]);
    },
  });
  if (!account.can('change money')) return null;
  return (
    <Section title={t.redeem} description={t.redeemAbout}>
      {redeem.data !== undefined && (
        <Notice
          tone={redeem.data.replayed ? 'info' : 'good'}
          live
          action={
            <Link to={account.path(`/billing/receipts/${redeem.data.entry.id}`)} className="link">
              {t.showReceipt}
            </Link>
          }
        >
          {(redeem.data.replayed ? t.redeemedBefore : t.redeemed)({ usd: usdText(redeem.data.entry.amount_usd) })}
        </Notice>
      )}
      <FormError error={redeem.error} fields={['code']} />
      <Card>
        <Form onSubmit={() => code.trim() !== '' && redeem.mutate()} className="flex flex-wrap items-start gap-3">
          <TextField
            label={t.code}
            className="min-w-0 flex-1 basis-64"
            value={code}
            onChange={(event) => setCode(event.target.value)}
            error={fieldError(redeem.error, 'code')}
            placeholder={t.codeForm}
            spellCheck={false}
            autoCapitalize="characters"
            maxLength={100}
            required
          />
          <Button type="submit" busy={redeem.isPending} className="sm:mt-6">
            <Ticket size={16} aria-hidden />
            {t.redeemButton}
          </Button>
        </Form>
      </Card>
    </Section>
  );
}
