// The log of what was sent to webhook endpoints, and tests of an endpoint.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { webhookEventTypes } from '#rules/webhook-events.js';
import { listWebhookDeliveries, resendWebhook, testWebhook, type WebhookDelivery, type WebhookEndpoint } from '../../api/webhooks.js';
import { useTime } from '../../format/time.js';
import { commonText } from '../../i18n/common.js';
import { useFindingText } from '../../i18n/finding-text.js';
import { useText } from '../../i18n/text.js';
import { webhooksText } from '../../i18n/webhooks.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Dialog } from '../../ui/dialog.js';
import { SelectField } from '../../ui/field.js';
import { Card, Section } from '../../ui/layout.js';
import { FormError } from '../../ui/notice.js';
import { ActionMenu } from '../../ui/menu.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toasts/toast.js';
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
          return (
            <Card flush>
              <DeliveryTable deliveries={deliveries} resendable={mayResend ? endpoints : []} />
            </Card>
          );
        }}
      </Listed>
    </Section>
  );
}

function DeliveryTable({ deliveries, resendable }: { deliveries: readonly WebhookDelivery[]; resendable: readonly WebhookEndpoint[] }) {
  const [t, common] = [useText(webhooksText), useText(commonText)];
  const found = useFindingText();
  const account = useAccount();
  const client = useQueryClient();
  const time = useTime();
  const [payload, setPayload] = useState<string>();
  const answerOf = ({ outcome, next_attempt_at: next }: WebhookDelivery): string =>
    next === null ? found(outcome) : `${found(outcome)}${outcome === '' ? '' : '; '}${t.nextTry({ when: time.minute(next) })}`;
  const resend = useMutation({
    mutationFn: (id: string) => resendWebhook(account.id, id),
    onSuccess: ({ state, outcome }) => toast(state === 'delivered' ? t.resent : t.notResent({ outcome: found(outcome) })),
    onSettled: () => client.invalidateQueries({ queryKey: deliveriesKey(account.id) }),
  });
  return (
    <>
      <FormError error={resend.error} />
      <DataTable
        caption={t.deliveries}
        rows={deliveries}
        rowKey={({ id }) => id}
        room="most"
        dense
        className="two-lines"
        columns={[
          { name: t.time, className: 'line-1', cell: ({ created_at }) => <When at={created_at} style="line" /> },
          {
            name: t.event,
            className: 'line-2 cut wide',
            cell: ({ event_type: type, test }) => (
              <>
                {type} {test && <Badge>{t.isTest}</Badge>}
              </>
            ),
          },
          { name: t.ofEndpoint, className: 'cut share wide', cell: ({ url }) => <span title={url}>{url}</span> },
          { name: t.state, className: 'line-1 grow', cell: ({ state }) => <DeliveryState state={state} texts={t} /> },
          { name: t.attempts, numeric: true, cell: ({ attempts }) => attempts },
          {
            name: t.answer,
            className: 'line-2 cut share wide',
            cell: (delivery) => <span title={answerOf(delivery)}>{answerOf(delivery)}</span>,
          },
          {
            name: common.actions,
            hideName: true,
            className: 'num',
            cell: ({ id, endpoint_id: endpointId, event_type: type, body }) => (
              <ActionMenu
                label={t.actionsOf({ url: type })}
                actions={[
                  { label: t.showPayload, onSelect: () => setPayload(body) },
                  resendable.some((endpoint) => endpoint.id === endpointId && endpoint.state === 'enabled') && {
                    label: t.resend,
                    disabled: resend.isPending,
                    onSelect: () => resend.mutate(id),
                  },
                ]}
              />
            ),
          },
        ]}
      />
      <Dialog
        open={payload !== undefined}
        onClose={() => setPayload(undefined)}
        title={t.payload}
        footer={<Button onClick={() => setPayload(undefined)}>{common.close}</Button>}
      >
        {payload !== undefined && <CodeBlock code={JSON.stringify(JSON.parse(payload), null, 2)} label={t.payload} />}
      </Dialog>
    </>
  );
}

/** Sends an example of an event to an endpoint, and shows the result. */
export function TestDialog({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) {
  const [t, common] = [useText(webhooksText), useText(commonText)];
  const found = useFindingText();
  const account = useAccount();
  const client = useQueryClient();
  const [type, setType] = useState(endpoint.event_types[0]!);
  const test = useMutation({
    mutationFn: () => testWebhook(account.id, endpoint.id, type),
    onSettled: () => client.invalidateQueries({ queryKey: ['webhooks', account.id] }),
  });
  return (
    <Dialog
      onClose={onClose}
      title={t.test}
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
          <DeliveryState state={test.data.state} texts={t} /> <span className="text-soft wrap-anywhere">{found(test.data.outcome)}</span>
        </div>
      )}
    </Dialog>
  );
}
