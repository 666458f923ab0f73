// One model: its prices, the draft of the next one, and its details.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { ExternalLink } from 'lucide-react';
import { useState } from 'react';
import { useParams, useSearchParams } from 'wouter';
import { catalogKeys, getModel, pauseModel, resumeModel, updateModel, type WholeModel } from '../../../api/operator-catalog.js';
import { gatewayUrl } from '../../../base.js';
import { useTime, useZone, zoneName } from '../../../format/time.js';
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { Button, ButtonLink, buttonClass } from '../../../ui/button.js';
import { ConfirmDialog, FormDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { PageHeader } from '../../../ui/layout.js';
import { fieldError, FormError, Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { Tabs } from '../../../ui/tabs.js';
import { toast } from '../../../ui/toasts/toast.js';
import { EditModel } from './model-form.js';
import { ModelPrices } from './model-prices.js';
import { instantOf } from './price-form.js';
import { StateBadges } from './models.js';

export default function ModelPage() {
  const { '*': id = '' } = useParams<{ '*': string }>();
  const query = useQuery({ queryKey: catalogKeys.model(id), queryFn: ({ signal }) => getModel(id, signal) });
  const t = useText(modelsText);
  return (
    <>
      {query.data === undefined && <PageHeader title={id} back={['/operator/models', t.title]} />}
      <Fetched query={query}>{(model) => <Content model={model} />}</Fetched>
    </>
  );
}

function Content({ model }: { model: WholeModel }) {
  const t = useText(modelsText);
  const [params, setParams] = useSearchParams();
  const tab = params.get('tab') === 'fields' ? 'fields' : 'prices';
  return (
    <>
      <PageHeader
        title={model.display_name}
        back={['/operator/models', t.title]}
        description={
          <>
            <code>{model.id}</code>
            {model.aliases.length > 0 && ` · ${t.alias({ names: model.aliases.join(', ') })}`}
          </>
        }
        actions={
          <>
            {model.state !== 'retired' && (
              <a href={new URL(`models/${model.id}`, gatewayUrl).href} className={buttonClass()}>
                <ExternalLink size={16} aria-hidden />
                {t.publicPage}
              </a>
            )}
            <Pause model={model} />
            <Retire model={model} />
          </>
        }
      />
      <div className="mb-4">
        <StateBadges model={model} />
      </div>
      {model.not_served_because !== null && <NotServed reason={model.not_served_because} paused={model.paused} />}
      <Tabs
        label={t.tabs}
        value={tab}
        onChange={(value) => setParams(value === 'fields' ? { tab: value } : {})}
        tabs={[
          { value: 'prices', label: t.tabPrices, content: <ModelPrices model={model} /> },
          { value: 'fields', label: t.tabFields, content: <EditModel key={model.state} model={model} /> },
        ]}
      />
    </>
  );
}

function NotServed({ reason, paused }: { reason: NonNullable<WholeModel['not_served_because']>; paused: WholeModel['paused'] }) {
  const t = useText(modelsText);
  const time = useTime();
  const until = paused?.until ?? null;
  const texts = {
    retired: t.becauseRetired,
    unpriced: t.becauseUnpriced,
    no_enabled_upstream: t.becauseNoUpstream,
    paused: `${until === null ? t.becausePaused : t.becausePausedUntil({ when: time.minute(until) })} ${paused?.reason ?? ''}`,
  };
  return (
    <Notice
      tone="warn"
      title={t.notServedTitle}
      action={
        reason === 'no_enabled_upstream' && (
          <ButtonLink size="small" to="/operator/upstreams">
            {t.toUpstreams}
          </ButtonLink>
        )
      }
    >
      <p>{texts[reason]}</p>
    </Notice>
  );
}

function Retire({ model }: { model: WholeModel }) {
  const t = useText(modelsText);
  const client = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  const isRetired = model.state === 'retired';
  const change = useMutation({
    mutationFn: () => updateModel(model.id, { state: isRetired ? 'active' : 'retired' }),
    onSuccess: async () => {
      setAsked(false);
      toast(isRetired ? t.restoredNow : t.retiredNow);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
  if (isRetired) {
    return (
      <>
        <Button onClick={() => change.mutate()} busy={change.isPending}>
          {t.restore}
        </Button>
        <FormError error={change.error} />
      </>
    );
  }
  return (
    <>
      <Button onClick={() => setAsked(true)}>{t.retire}</Button>
      <ConfirmDialog
        open={isAsked}
        onClose={() => setAsked(false)}
        onConfirm={() => change.mutate()}
        busy={change.isPending}
        title={t.retireTitle({ id: model.id })}
        description={t.retireText}
        confirm={t.retire}
      >
        <FormError error={change.error} />
      </ConfirmDialog>
    </>
  );
}

/** Pauses the model until an instant, or ends its pause. */
function Pause({ model }: { model: WholeModel }) {
  const t = useText(modelsText);
  const client = useQueryClient();
  const [isAsked, setAsked] = useState(false);
  const [until, setUntil] = useState('');
  const zone = useZone();
  const [reason, setReason] = useState('');
  const isPaused = model.paused !== null;
  const change = useMutation({
    mutationFn: () =>
      isPaused ? resumeModel(model.id) : pauseModel(model.id, until === '' ? null : instantOf(until, zone), reason.trim()),
    onSuccess: async () => {
      setAsked(false);
      toast(isPaused ? t.resumedNow : t.pausedNow);
      await client.invalidateQueries({ queryKey: catalogKeys.all });
    },
  });
  if (model.state === 'retired') return null;
  if (isPaused) {
    return (
      <>
        <Button onClick={() => change.mutate()} busy={change.isPending}>
          {t.resume}
        </Button>
        <FormError error={change.error} />
      </>
    );
  }
  return (
    <>
      <Button onClick={() => setAsked(true)}>{t.pause}</Button>
      {/* The browser refuses a date without a time, which has no value and would otherwise pause the model without an end. */}
      <FormDialog
        open={isAsked}
        onClose={() => setAsked(false)}
        onSubmit={() => change.mutate()}
        busy={change.isPending}
        title={t.pauseTitle({ id: model.id })}
        description={t.pauseText}
        submit={t.pause}
        danger
      >
        <FormError error={change.error} fields={['until', 'reason']} />
        <TextField
          label={t.pauseUntil({ zone: zoneName(zone, new Date(instantOf(until, zone) ?? Date.now())) })}
          hint={t.pauseUntilHint}
          error={fieldError(change.error, 'until')}
          optional
          type="datetime-local"
          value={until}
          onChange={(event) => setUntil(event.target.value)}
        />
        <TextField
          label={t.pauseReason}
          error={fieldError(change.error, 'reason')}
          optional
          maxLength={200}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
        />
      </FormDialog>
    </>
  );
}
