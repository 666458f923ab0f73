// The log of what was sent to webhook endpoints, and tests of an endpoint.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { webhookEventTypes } from '#rules/webhook-events.js';
import { listWebhookDeliveries, resendWebhook, testWebhook, type WebhookDelivery, type WebhookEndpoint } from '../../api/webhooks.js';
import { useTime } from '../../format/time.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { webhooksText } from '../../i18n/webhooks.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { Disclosure } from '../../ui/disclosure.js';
import { SelectField } from '../../ui/field.js';
import { Section } from '../../ui/layout.js';
import { FormError } from '../../ui/notice.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toast.js';
import { When } from '../../ui/values.js';
import { DeliveryState } from '../billing/delivery-state.js';
import { Listed } from '../billing/parts.js';

const refetchMs = 5000;
const deliveriesKey = (accountId: string, ...rest: readonly string[]): readonly string[] => ['webhooks', accountId, 'deliveries', ...rest];

/** The log, newest first. */
export function Deliveries({ endpoints, mayResend }: { endpoints: readonly WebhookEndpoint[]; mayResend: boolean }) {
  const t = useText(webhooksText);
  const account = useAccount();
  const [endpoint, setEndpoint] = useState('');
  return (
    <Section title={t.deliveries} description={t.deliveriesAbout}>
      {endpoints.length > 1 && (
        <SelectField
          label={t.ofEndpoint}
          className="mb-3 max-w-xl"
          value={endpoint}
          onChange={setEndpoint}
          options={[{ value: '', label: t.allEndpoints }, ...endpoints.map(({ id, url }) => ({ value: id, label: url }))]}
        />
      )}
      <Listed
        queryKey={deliveriesKey(account.id, endpoint)}
        fetch={(cursor, signal) => listWebhookDeliveries(account.id, endpoint, cursor, signal)}
        refetchInterval={refetchMs}
      >
        {(pages) => {
          const deliveries = pages.flatMap(({ data }) => data);
          if (deliveries.length === 0) return <p className="text-soft">{t.noDeliveries}</p>;
          return <DeliveryTable deliveries={deliveries} resendable={mayResend ? endpoints : []} />;
        }}
      </Listed>
    </Section>
  );
}

function DeliveryTable({ deliveries, resendable }: { deliveries: readonly WebhookDelivery[]; resendable: readonly WebhookEndpoint[] }) {
  const [t, common] = [useText(webhooksText), useText(commonText)];
  const account = useAccount();
  const client = useQueryClient();
  const time = useTime();
  const resend = useMutation({
    mutationFn: (id: string) => resendWebhook(account.id, id),
    onSuccess: ({ state, outcome }) => toast(state === 'delivered' ? t.resent : t.notResent({ outcome })),
    onSettled: () => client.invalidateQueries({ queryKey: deliveriesKey(account.id) }),
  });
  return (
    <>
      <FormError error={resend.error} />
      <DataTable
        caption={t.deliveries}
        rows={deliveries}
        rowKey={({ id }) => id}
        room="much"
        columns={[
          { name: t.time, cell: ({ created_at }) => <When at={created_at} /> },
          {
            name: t.event,
            cell: ({ event_type: type, test, body }) => (
              <>
                {type} {test && <Badge>{t.isTest}</Badge>}
                <Disclosure summary={t.payload}>
                  <CodeBlock code={JSON.stringify(JSON.parse(body), null, 2)} label={t.payload} />
                </Disclosure>
              </>
            ),
          },
          { name: t.ofEndpoint, className: 'wrap-anywhere', cell: ({ url }) => url },
          { name: t.state, cell: ({ state }) => <DeliveryState state={state} texts={t} /> },
          { name: t.attempts, numeric: true, cell: ({ attempts }) => attempts },
          {
            name: t.answer,
            className: 'wrap-anywhere',
            cell: ({ outcome, next_attempt_at: next }) =>
              next === null ? outcome : `${outcome}${outcome === '' ? '' : '; '}${t.nextTry({ when: time.minute(next) })}`,
          },
          ...(resendable.length === 0
            ? []
            : [
                {
                  name: common.actions,
                  cell: ({ id, endpoint_id: endpointId }: WebhookDelivery) =>
                    resendable.some((endpoint) => endpoint.id === endpointId && endpoint.state === 'enabled') && (
                      <Button size="small" busy={resend.isPending && resend.variables === id} onClick={() => resend.mutate(id)}>
                        {t.resend}
                      </Button>
                    ),
                },
              ]),
        ]}
      />
    </>
  );
}

/** Sends an example of an event to an endpoint, and shows the result. */
export function TestDialog({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const [t, common] = [useText(webhooksText), useText(commonText)];
  const account = useAccount();
  const client = useQueryClient();
  const [type, setType] = useState(endpoint.event_types[0]!);
  const test = useMutation({
    mutationFn: () => testWebhook(account.id, endpoint.id, type),
    onSettled: () => client.invalidateQueries({ queryKey: ['webhooks', account.id] }),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={t.testTitle}
      description={t.testAbout}
      footer={
        <>
          <Button onClick={onClose}>{common.close}</Button>
          <Button look="primary" busy={test.isPending} onClick={() => test.mutate()}>
            {t.send}
          </Button>
        </>
      }
    >
      <FormError error={test.error} />
      <SelectField label={t.event} value={type} onChange={setType} options={webhookEventTypes.map((value) => ({ value, label: value }))} />
      {test.data !== undefined && (
        <div role="status" className="mt-4">
          <p className="mb-1 font-medium">{t.result}</p>
          <DeliveryState state={test.data.state} texts={t} /> <span className="text-soft wrap-anywhere">{test.data.outcome}</span>
        </div>
      )}
    </Dialog>
  );
}
