// The vendors and servers that models are reached through, each with its last test.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { catalogKeys, deleteUpstream, listUpstreams, updateUpstream, type Upstream } from '../../../api/operator-catalog.js';
import { targetsText } from '../../../i18n/operator-targets.js';
import { upstreamsText } from '../../../i18n/operator-upstreams.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { Button, CreateButton } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { Card, Facts, PageHeader } from '../../../ui/layout.js';
import { FormError, Notice } from '../../../ui/notice.js';
import { ActionMenu } from '../../../ui/menu.js';
import { Fetched } from '../../../ui/query.js';
import { toast } from '../../../ui/toasts/toast.js';
import { UpstreamCredentials } from './upstream-credentials.js';
import { CredentialDialog, TestDialog, UpstreamDialog } from './lazy-upstream-dialogs.js';
import { UpstreamTargets } from './upstream-targets.js';
import { TestResult } from './upstream-test.js';

type DialogName = 'edit' | 'test' | 'disable' | 'delete' | 'credential';

export default function Upstreams() {
  const t = useText(upstreamsText);
  const query = useQuery({ queryKey: catalogKeys.upstreams, queryFn: ({ signal }) => listUpstreams(signal) });
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <PageHeader
        title={t.title}
        description={t.description}
        actions={<CreateButton onClick={() => setAdding(true)}>{t.add}</CreateButton>}
      />
      <Fetched query={query}>
        {({ data }) => (
          <div className="flex flex-col gap-4">
            {data.toSorted(builtInLast).map((upstream) => (
              <UpstreamCard key={upstream.id} upstream={upstream} />
            ))}
          </div>
        )}
      </Fetched>
      {isAdding && <UpstreamDialog onClose={() => setAdding(false)} />}
    </>
  );
}

const builtInLast = (one: Upstream, other: Upstream): number => Number(one.locked === 'built_in') - Number(other.locked === 'built_in');

function UpstreamCard({ upstream }: { upstream: Upstream }) {
  const t = useText(upstreamsText);
  const targets = useText(targetsText);
  const [dialog, setDialog] = useState<DialogName>();
  const change = useEnable(upstream, () => setDialog(undefined));
  const { id, enabled, locked, models } = upstream;
  const offered = models.filter(({ retired }) => !retired);
  const close = (): void => setDialog(undefined);
  return (
    <Card>
      <section aria-label={id}>
        <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
          <div className="flex flex-wrap items-center gap-2">
            <h2>{id}</h2>
            {enabled ? (
              <Badge tone="good" icon="ok">
                {t.enabled}
              </Badge>
            ) : (
              <Badge icon="paused">{t.disabled}</Badge>
            )}
            {locked !== null && <Badge>{locked === 'built_in' ? t.builtIn : t.fromEnvironment}</Badge>}
          </div>
          <div className="flex flex-wrap gap-2">
            <Button onClick={() => setDialog('test')}>{t.test}</Button>
            {locked === null && (
              <>
                <Button onClick={() => setDialog('edit')}>{t.edit}</Button>
                <ActionMenu
                  label={t.actionsOf({ id })}
                  actions={[
                    { label: targets.addCredential, onSelect: () => setDialog('credential') },
                    {
                      label: enabled ? t.disable : t.enable,
                      onSelect: () => (enabled && offered.length > 0 ? setDialog('disable') : change.mutate()),
                    },
                    { label: t.remove, danger: true, onSelect: () => setDialog('delete') },
                  ]}
                />
              </>
            )}
          </div>
        </div>
        {locked !== null && (
          <p className="mb-3 text-soft">
            {locked === 'built_in' ? t.lockedBuiltIn : t.lockedEnvironment({ setting: upstream.managed_by ?? '' })}
          </p>
        )}
        <FormError error={change.error} />
        <What upstream={upstream} />
        <UpstreamCredentials upstream={upstream} />
        <UpstreamTargets upstreamId={id} />
        <TestResult test={upstream.last_test} />
      </section>
      {dialog === 'test' && <TestDialog upstream={upstream} onClose={close} />}
      {dialog === 'credential' && <CredentialDialog upstreamId={id} onClose={close} />}
      {dialog === 'edit' && <UpstreamDialog upstream={upstream} onClose={close} />}
      <ConfirmDialog
        open={dialog === 'disable'}
        onClose={close}
        onConfirm={() => change.mutate()}
        busy={change.isPending}
        title={t.disableTitle({ id })}
        description={t.disableText({ count: offered.length })}
        confirm={t.disable}
      />
      <Delete upstream={upstream} used={offered.map((model) => model.id)} open={dialog === 'delete'} onClose={close} />
    </Card>
  );
}

function useEnable({ id, enabled }: Upstream, onDone: () => void) {
  const t = useText(upstreamsText);
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => updateUpstream(id, { enabled: !enabled }),
    onSuccess: () => toast(enabled ? t.disabledNow : t.enabledNow),
    onSettled: async () => {
      onDone();
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
}

function What({ upstream }: { upstream: Upstream }) {
  const { base_url, api_format, has_secret, secret_last_four, allow_private_network, locked, models } = upstream;
  const t = useText(upstreamsText);
  const lastFour = secret_last_four === null ? t.shortSecret : <code>{`…${secret_last_four}`}</code>;
  const formats = { chat_completions: t.chatCompletions, messages: t.messages, responses: t.responses, sandbox: t.sandbox };
  return (
    <Facts
      facts={[
        [
          t.address,
          <>
            {base_url === null ? t.builtIn : <code>{base_url}</code>}
            {allow_private_network && locked === null && <span className="text-soft"> · {t.privateAllowed}</span>}
          </>,
        ],
        [t.format, formats[api_format]],
        base_url !== null && [t.secret, has_secret ? lastFour : t.noSecret],
        [t.models, models.length === 0 ? <span className="text-soft">{t.noModels}</span> : <Models models={models} />],
      ]}
    />
  );
}

/** A model may be routed to the same upstream more than once, under several names. */
function distinct(models: Upstream['models']): Upstream['models'] {
  return models.filter(({ id }, index) => models.findIndex((other) => other.id === id) === index);
}

function Models({ models }: { models: Upstream['models'] }) {
  const t = useText(upstreamsText);
  return (
    <ul className="flex flex-wrap gap-x-3 gap-y-1">
      {distinct(models).map(({ id, retired }) => (
        <li key={id}>
          <Link to={`/operator/models/${id}`} className="link">
            {id}
          </Link>
          {retired && <span className="text-soft"> ({t.retired})</span>}
        </li>
      ))}
    </ul>
  );
}

function Delete({
  upstream: { id },
  used,
  open,
  onClose,
}: {
  upstream: Upstream;
  used: readonly string[];
  open: boolean;
  onClose: () => void;
}) {
  const t = useText(upstreamsText);
  const client = useQueryClient();
  const remove = useMutation({
    mutationFn: () => deleteUpstream(id),
    onSuccess: async () => {
      toast(t.deletedNow);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
  return (
    <ConfirmDialog
      open={open}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      disabled={used.length > 0}
      title={t.deleteTitle({ id })}
      description={t.deleteText}
      confirm={t.remove}
    >
      {used.length > 0 && (
        <Notice tone="warn">
          <p>{t.deleteUsed}</p>
          <p className="mt-1">
            <code>{used.join(', ')}</code>
          </p>
        </Notice>
      )}
      <FormError error={remove.error} />
    </ConfirmDialog>
  );
}
