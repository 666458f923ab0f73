// The webhook endpoints of an account, and what was sent to them.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { deleteWebhook, listWebhooks, rotateWebhook, updateWebhook, type WebhookEndpoint } from '../../api/webhooks.js';
import { gatewayUrl } from '../../base.js';
import { useTime } from '../../format/time.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { webhooksText } from '../../i18n/webhooks.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Card, Empty, PageHeader, Section } from '../../ui/layout.js';
import { ActionMenu } from '../../ui/menu.js';
import { FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { toast } from '../../ui/toasts/toast.js';
import { Deliveries, TestDialog } from './deliveries.js';
import { EndpointDialog, SecretDialog } from './endpoint-dialog.js';

const refetchMs = 5000;

/** The current action on an endpoint. */
type Doing = { readonly what: 'edit' | 'test' | 'rotate' | 'delete'; readonly endpoint: WebhookEndpoint } | { readonly what: 'add' };

export default function Webhooks() {
  const t = useText(webhooksText);
  const account = useAccount();
  const client = useQueryClient();
  const [doing, setDoing] = useState<Doing>();
  const [secret, setSecret] = useState<string>();
  // A role in a project is not enough.
  const mayChange = account.can('change keys', '');
  const query = useQuery({
    queryKey: ['webhooks', account.id],
    queryFn: ({ signal }) => listWebhooks(account.id, signal),
    refetchInterval: refetchMs,
  });
  const changed = () => client.invalidateQueries({ queryKey: ['webhooks', account.id] });
  const close = (): void => setDoing(undefined);
  const saved = (made?: string): void => {
    close();
    setSecret(made);
    if (made === undefined) toast(t.saved);
    void changed();
  };
  const add = mayChange && (
    <Button look="primary" onClick={() => setDoing({ what: 'add' })}>
      {t.add}
    </Button>
  );
  return (
    <>
      <PageHeader
        title={t.title}
        description={
          <>
            {t.about}{' '}
            <a className="link" href={`${gatewayUrl}docs/webhooks`} target="_blank" rel="noreferrer">
              {t.docs}
            </a>
          </>
        }
        actions={add}
      />
      <Fetched query={query}>
        {({ data: endpoints }) => (
          <>
            <Section>
              {endpoints.length === 0 ? (
                <Empty title={t.none}>
                  <p>{t.noneHint}</p>
                </Empty>
              ) : (
                <EndpointTable endpoints={endpoints} onDo={mayChange ? setDoing : undefined} onChanged={() => saved()} />
              )}
            </Section>
            <Deliveries endpoints={endpoints} mayResend={mayChange} />
          </>
        )}
      </Fetched>
      {doing?.what === 'add' && <EndpointDialog onClose={close} onSaved={saved} />}
      {doing?.what === 'edit' && <EndpointDialog endpoint={doing.endpoint} onClose={close} onSaved={saved} />}
      {doing?.what === 'test' && <TestDialog endpoint={doing.endpoint} onClose={close} />}
      {doing?.what === 'rotate' && (
        <Confirmed
          title={t.rotateTitle}
          description={t.rotateAbout}
          confirm={t.rotate}
          danger={false}
          act={async () => (await rotateWebhook(account.id, doing.endpoint.id)).secret}
          onClose={close}
          onDone={saved}
        />
      )}
      {doing?.what === 'delete' && (
        <Confirmed
          title={t.removeTitle}
          description={t.removeAbout}
          confirm={t.remove}
          act={() => deleteWebhook(account.id, doing.endpoint.id)}
          onClose={close}
          onDone={() => {
            close();
            void changed();
          }}
        />
      )}
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

function EndpointTable({
  endpoints,
  onDo,
  onChanged,
}: {
  endpoints: readonly WebhookEndpoint[];
  /** Undefined for members who may only view endpoints. */
  onDo: ((doing: Doing) => void) | undefined;
  onChanged: () => void;
}) {
  const [t, common] = [useText(webhooksText), useText(commonText)];
  const account = useAccount();
  const toggle = useMutation({
    mutationFn: ({ id, state }: WebhookEndpoint) => updateWebhook(account.id, id, { enabled: state !== 'enabled' }),
    onSuccess: onChanged,
  });
  return (
    <>
      <FormError error={toggle.error} />
      <Card flush>
        <DataTable
          caption={t.title}
          rows={endpoints}
          rowKey={({ id }) => id}
          columns={[
            {
              name: t.url,
              className: 'wrap-anywhere',
              cell: ({ url, description }) => (
                <>
                  {url}
                  <span className="block font-normal text-soft">{description}</span>
                </>
              ),
            },
            { name: t.events, className: 'wrap-anywhere', cell: ({ event_types }) => event_types.join(', ') },
            { name: t.state, cell: (endpoint) => <State endpoint={endpoint} /> },
            ...(onDo === undefined
              ? []
              : [
                  {
                    name: common.actions,
                    hideName: true,
                    cell: (endpoint: WebhookEndpoint) => (
                      <ActionMenu
                        label={t.actionsOf({ url: endpoint.url })}
                        actions={[
                          { label: t.edit, onSelect: () => onDo({ what: 'edit', endpoint }) },
                          { label: endpoint.state === 'enabled' ? t.disable : t.enable, onSelect: () => toggle.mutate(endpoint) },
                          { label: t.test, onSelect: () => onDo({ what: 'test', endpoint }) },
                          { label: t.rotate, onSelect: () => onDo({ what: 'rotate', endpoint }) },
                          { label: t.remove, danger: true, onSelect: () => onDo({ what: 'delete', endpoint }) },
                        ]}
                      />
                    ),
                  },
                ]),
          ]}
        />
      </Card>
    </>
  );
}

function State({ endpoint }: { endpoint: WebhookEndpoint }) {
  const t = useText(webhooksText);
  const time = useTime();
  const { state, failing_since: failing, previous_secret_expires_at: previous } = endpoint;
  // Read when the page is rendered: the note may stay until the next refresh.
  const isOverlap = previous !== null && Date.parse(previous) > Date.now();
  return (
    <>
      {state === 'enabled' && (
        <Badge tone={failing === null ? 'good' : 'warn'} icon={failing === null ? 'ok' : 'fault'}>
          {t.enabled}
        </Badge>
      )}
      {state === 'disabled' && <Badge icon="paused">{t.disabled}</Badge>}
      {state === 'failed' && (
        <Badge tone="bad" icon="fault">
          {t.disabledByFailures}
        </Badge>
      )}
      {failing !== null && <span className="block text-soft">{t.failingSince({ when: time.minute(failing) })}</span>}
      {isOverlap && <span className="block text-soft">{t.bothSecrets({ when: time.minute(previous) })}</span>}
    </>
  );
}

/** Acts after a confirmation; `onDone` receives what the action returned. */
function Confirmed<T>({
  act,
  onClose,
  onDone,
  ...words
}: {
  title: string;
  description: ReactNode;
  confirm: string;
  danger?: boolean;
  act: () => Promise<T>;
  onClose: () => void;
  onDone: (result: T) => void;
}) {
  const acting = useMutation({ mutationFn: act, onSuccess: onDone });
  return (
    <ConfirmDialog open {...words} onClose={onClose} onConfirm={() => acting.mutate()} busy={acting.isPending}>
      <FormError error={acting.error} />
    </ConfirmDialog>
  );
}
