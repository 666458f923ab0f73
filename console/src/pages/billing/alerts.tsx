// The alerts by mail: their recipients, the state of the low-balance alert, a test, and what was sent.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { type Alert, type AlertChange, type AlertNow, getAlert, putAlert, testAlert } from '../../api/alerts.js';
import { typedUsd, usdText } from '../../format/money.js';
import { useTime } from '../../format/time.js';
import { alertsText } from '../../i18n/alerts.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { CheckField, TextAreaField, TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Facts, Section } from '../../ui/layout.js';
import { fieldError, FormError } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { toast } from '../../ui/toasts/toast.js';
import { Deliveries, FailingDestinations, TestResult } from './alert-deliveries.js';

const alertKey = (accountId: string, ...rest: readonly string[]): readonly string[] => ['alerts', accountId, ...rest];

/** The state can change while the page is open, but it need not be as current as the balance. */
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
  const hasDestination = alert.emails.length > 0;
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
      <Facts facts={[[t.emails, alert.emails.length === 0 ? c.none : alert.emails.join(', ')]]} />
    </div>
  );
}

interface Fields {
  readonly enabled: boolean;
  readonly threshold: string;
  readonly emails: string;
}

const fieldsOf = (alert: Alert): Fields => ({
  enabled: alert.threshold_usd !== null && alert.enabled,
  threshold: alert.threshold_usd ?? '10',
  emails: alert.emails.join('\n'),
});

const changeOf = ({ enabled, threshold, emails }: Fields): AlertChange => ({
  enabled,
  threshold_usd: typedUsd(threshold),
  emails: emails.split(/[\s,;]+/).filter((email) => email !== ''),
});

function AlertForm({ alert }: { alert: AlertNow }) {
  const t = useText(alertsText);
  const c = useText(commonText);
  const account = useAccount();
  const client = useQueryClient();
  const [fields, setFields] = useState(() => fieldsOf(alert));
  // A form without changes follows those that are made elsewhere, and does not offer to undo them.
  const [known, setKnown] = useState(alert);
  const set = (changes: Partial<Fields>): void => setFields((before) => ({ ...before, ...changes }));
  const isSameAs = (other: Alert): boolean => JSON.stringify(fields) === JSON.stringify(fieldsOf(other));
  if (alert !== known) {
    setKnown(alert);
    if (isSameAs(known)) setFields(fieldsOf(alert));
  }
  const isSaved = isSameAs(alert);
  const refresh = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: alertKey(account.id) }),
      client.invalidateQueries({ queryKey: ['balance', account.id] }),
    ]);
  const save = useMutation({
    mutationFn: () => putAlert(account.id, changeOf(fields)),
    onSuccess: async (saved) => {
      setFields(fieldsOf(saved));
      toast(t.saved);
      await refresh();
    },
  });
  const test = useMutation({
    mutationFn: () => testAlert(account.id),
    onSettled: () => client.invalidateQueries({ queryKey: alertKey(account.id, 'deliveries') }),
  });
  const submit = (): void => {
    test.reset();
    save.mutate();
  };
  const hasDestination = alert.emails.length > 0;
  return (
    <Form onSubmit={submit} className="mt-4 flex flex-col gap-4">
      <FormError error={save.error} fields={['threshold_usd', 'threshold_nano_usd', 'emails']} />
      {/* A threshold that is not shown is the present one, so that it is never refused. */}
      <CheckField
        label={t.enabled}
        checked={fields.enabled}
        onChange={(enabled) => set(enabled ? { enabled } : { enabled, threshold: fieldsOf(alert).threshold })}
      />
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
      <TextAreaField
        label={t.emails}
        hint={alert.mail_configured ? t.emailsHint : t.noMailServer}
        error={fieldError(save.error, 'emails')}
        optional
        className="max-w-xl"
        value={fields.emails}
        onChange={(event) => set({ emails: event.target.value })}
        spellCheck={false}
        autoCapitalize="none"
      />
      <p>
        <Link to={account.path('/webhooks')} className="link">
          {t.toWebhooks}
        </Link>
      </p>
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" busy={save.isPending} disabled={isSaved}>
          {c.save}
        </Button>
        <Button onClick={() => test.mutate()} busy={test.isPending} disabled={!isSaved || !hasDestination}>
          {test.isPending ? t.testing : t.test}
        </Button>
        {!isSaved && alert.threshold_usd !== null && <span className="text-sm text-soft">{t.testHint}</span>}
      </div>
      <FormError error={test.error} />
      {test.data !== undefined && <TestResult deliveries={test.data.data} />}
    </Form>
  );
}
