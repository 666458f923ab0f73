// The low-balance alert: its recipients, its state, a test, and what was sent.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type SyntheticEvent, useState } from 'react';
import { type Alert, type AlertChange, type AlertNow, getAlert, putAlert, testAlert } from '../../api/alerts.js';
import { gatewayUrl } from '../../base.js';
import { usdText } from '../../format/money.js';
import { useTime } from '../../format/time.js';
import { alertsText } from '../../i18n/alerts.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { ConfirmDialog, Dialog } from '../../ui/dialog.js';
import { CheckField, TextAreaField, TextField } from '../../ui/field.js';
import { Card, Facts, Section } from '../../ui/layout.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { toast } from '../../ui/toast.js';
import { useStaying } from '../../session/staying.js';
import { Deliveries, FailingDestinations, TestResult } from './alert-deliveries.js';

export const alertKey = (accountId: string, ...rest: readonly string[]): readonly string[] => ['alerts', accountId, ...rest];

/** Fires and is armed while the page is looked at; but it must not be as lively as the balance. */
const refetchMs = 5000;

export function Alerts() {
  const t = useText(alertsText);
  const account = useAccount();
  const query = useQuery({
    queryKey: alertKey(account.id),
    queryFn: ({ signal }) => getAlert(account.id, signal),
    refetchInterval: refetchMs,
  });
  return (
    <Section title={t.title} description={t.about}>
      <Fetched query={query}>
        {(alert) => (
          <>
            <FailingDestinations alert={alert} />
            <Card>
              <State alert={alert} />
              {account.can('change money') ? <AlertForm alert={alert} /> : <Told alert={alert} />}
            </Card>
            {alert.threshold_usd !== null && <Deliveries />}
          </>
        )}
      </Fetched>
    </Section>
  );
}

function State({ alert }: { alert: AlertNow }) {
  const t = useText(alertsText);
  const time = useTime();
  const { threshold_usd: threshold, enabled, fired, fired_at: firedAt, rearm_at_usd: rearmAt } = alert;
  if (threshold === null) return <Badge>{t.neverSet}</Badge>;
  if (!enabled) return <Badge icon="paused">{t.off}</Badge>;
  const hasDestination = alert.emails.length > 0 || alert.webhook_url !== null;
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
      {fired ? (
        <>
          <Badge tone="warn" icon="fault">
            {t.fired}
          </Badge>
          <span>{t.firedSince({ when: firedAt === null ? '' : time.minute(firedAt), usd: usdText(rearmAt ?? threshold) })}</span>
        </>
      ) : (
        <>
          <Badge tone="good" icon="ok">
            {t.armed}
          </Badge>
          <span>{t.armedAt({ usd: usdText(threshold) })}</span>
        </>
      )}
      {!hasDestination && <p className="basis-full text-soft">{t.noDestination}</p>}
    </div>
  );
}

function Told({ alert }: { alert: AlertNow }) {
  const t = useText(alertsText);
  const c = useText(commonText);
  return (
    <div className="mt-3">
      <Facts
        facts={[
          [t.emails, alert.emails.length === 0 ? c.none : alert.emails.join(', ')],
          [t.webhook, alert.webhook_url ?? c.none],
        ]}
      />
    </div>
  );
}

interface Fields {
  readonly enabled: boolean;
  readonly threshold: string;
  readonly emails: string;
  readonly webhook: string;
}

const fieldsOf = (alert: Alert): Fields => ({
  enabled: alert.threshold_usd !== null && alert.enabled,
  threshold: alert.threshold_usd ?? '10',
  emails: alert.emails.join('\n'),
  webhook: alert.webhook_url ?? '',
});

const changeOf = ({ enabled, threshold, emails, webhook }: Fields): AlertChange => ({
  enabled,
  threshold_usd: threshold.trim(),
  emails: emails.split(/[\s,;]+/).filter((email) => email !== ''),
  webhook_url: webhook.trim() === '' ? null : webhook.trim(),
});

function AlertForm({ alert }: { alert: AlertNow }) {
  const t = useText(alertsText);
  const c = useText(commonText);
  const account = useAccount();
  const client = useQueryClient();
  const [fields, setFields] = useState(() => fieldsOf(alert));
  const [secret, setSecret] = useState<string | null>(null);
  const [isRenewing, setRenewing] = useState(false);
  const set = (changes: Partial<Fields>): void => setFields((before) => ({ ...before, ...changes }));
  const isSaved = JSON.stringify(fields) === JSON.stringify(fieldsOf(alert));
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: alertKey(account.id) }),
      client.invalidateQueries({ queryKey: ['balance', account.id] }),
    ]);
  const save = useMutation({
    mutationFn: (renewSecret: boolean) =>
      putAlert(account.id, renewSecret ? { ...changeOf(fieldsOf(alert)), rotate_webhook_secret: true } : changeOf(fields)),
    onSuccess: async ({ alert: saved, webhook_secret: made }) => {
      setRenewing(false);
      setSecret(made);
      setFields(fieldsOf(saved));
      // The dialog with the secret says enough.
      if (made === null) toast(t.saved);
      await refresh();
    },
  });
  const test = useMutation({
    mutationFn: () => testAlert(account.id),
    onSettled: () => client.invalidateQueries({ queryKey: alertKey(account.id, 'deliveries') }),
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    test.reset();
    save.mutate(false);
  };
  const hasDestination = alert.emails.length > 0 || alert.webhook_url !== null;
  return (
    <form onSubmit={submit} className="mt-4 flex flex-col gap-4">
      <FormError error={save.error} fields={['threshold_usd', 'threshold_nano_usd', 'emails', 'webhook_url']} />
      <CheckField label={t.enabled} checked={fields.enabled} onChange={(enabled) => set({ enabled })} />
      {fields.enabled && (
        <TextField
          label={t.threshold}
          hint={t.thresholdHint}
          error={fieldError(save.error, 'threshold_usd') ?? fieldError(save.error, 'threshold_nano_usd')}
          value={fields.threshold}
          onChange={(event) => set({ threshold: event.target.value })}
          inputMode="decimal"
          className="max-w-xs"
          required
        />
      )}
      {/* Alerts of budgets and of refused keys go there too, whether this alert is on or off. */}
      <div className="grid gap-4 md:grid-cols-2">
        <TextAreaField
          label={t.emails}
          hint={alert.mail_configured ? t.emailsHint : t.noMailServer}
          error={fieldError(save.error, 'emails')}
          optional
          value={fields.emails}
          onChange={(event) => set({ emails: event.target.value })}
          spellCheck={false}
          autoCapitalize="none"
        />
        <TextField
          label={t.webhook}
          hint={t.webhookHint}
          error={fieldError(save.error, 'webhook_url')}
          optional
          type="url"
          value={fields.webhook}
          onChange={(event) => set({ webhook: event.target.value })}
          placeholder={t.webhookForm}
          spellCheck={false}
        />
      </div>
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" busy={save.isPending} disabled={isSaved}>
          {c.save}
        </Button>
        <Button onClick={() => test.mutate()} busy={test.isPending} disabled={!isSaved || !hasDestination}>
          {test.isPending ? t.testing : t.test}
        </Button>
        {alert.webhook_url !== null && (
          <Button look="ghost" onClick={() => setRenewing(true)} disabled={!isSaved}>
            {t.renew}
          </Button>
        )}
        {!isSaved && alert.threshold_usd !== null && <span className="text-sm text-soft">{t.testHint}</span>}
      </div>
      <FormError error={test.error} />
      {test.data !== undefined && <TestResult deliveries={test.data.data} />}
      <ConfirmDialog
        open={isRenewing}
        onClose={() => setRenewing(false)}
        onConfirm={() => save.mutate(true)}
        busy={save.isPending}
        title={t.renewTitle}
        description={t.renewAbout}
        confirm={t.renew}
        danger={false}
      />
      {secret !== null && <SecretDialog secret={secret} onClose={() => setSecret(null)} />}
    </form>
  );
}

/** It cannot be lost by accident, since it is never shown again. */
function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  const t = useText(alertsText);
  const [isCopied, setCopied] = useState(false);
  useStaying(!isCopied);
  return (
    <Dialog
      open
      sticky={!isCopied}
      onClose={onClose}
      title={t.secretTitle}
      description={t.secretAbout}
      footer={
        <Button look="primary" onClick={onClose}>
          {t.keptSecret}
        </Button>
      }
    >
      <CodeBlock code={secret} label={t.secret} onCopied={() => setCopied(true)} />
      <p className="mt-3">
        <a className="link" href={`${gatewayUrl}docs/alerts`} target="_blank" rel="noreferrer">
          {t.verify}
        </a>
      </p>
    </Dialog>
  );
}
