// Tests an upstream step by step. The result stays with the upstream until it is changed.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { catalogKeys, type TestStep, testUpstream, type Upstream, type UpstreamTest } from '../../api/operator-catalog.js';
import { durationText } from '../../format/duration.js';
import { usdText } from '../../format/money.js';
import { commonText } from '../../i18n/common.js';
import { useFindingText } from '../../i18n/finding-text.js';
import { upstreamsText } from '../../i18n/operator-upstreams.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { CheckField, TextField } from '../../ui/field.js';
import { FormError } from '../../ui/notice.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';

/** Offers to make a test call too, and shows what it costs. */
export function TestDialog({ upstream, onClose }: { upstream: Upstream; onClose: () => void }) {
  const t = useText(upstreamsText);
  const common = useText(commonText);
  const client = useQueryClient();
  const list = useId();
  const [withCall, setWithCall] = useState(false);
  const [model, setModel] = useState(upstream.models.find(({ retired }) => !retired)?.upstream_model ?? '');
  const run = useMutation({
    mutationFn: () => testUpstream(upstream.id, withCall && model.trim() !== '' ? model.trim() : null),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: catalogKeys.upstreams });
      onClose();
    },
  });
  const priced = upstream.models.find(({ upstream_model, trial_cost_usd }) => upstream_model === model.trim() && trial_cost_usd !== null);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t.testTitle({ id: upstream.id })}
      description={t.testText}
      sticky={run.isPending}
      footer={
        <>
          <Button onClick={onClose} disabled={run.isPending}>
            {common.cancel}
          </Button>
          <Button look="primary" onClick={() => run.mutate()} busy={run.isPending} disabled={withCall && model.trim() === ''}>
            {t.run}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <CheckField label={t.withCall} hint={t.withCallHint} checked={withCall} onChange={setWithCall} disabled={run.isPending} />
        {withCall && (
          <>
            <TextField
              label={t.callModel}
              hint={priced === undefined ? t.callCostUnknown : t.callCost({ usd: usdText(priced.trial_cost_usd ?? '0'), model: priced.id })}
              list={list}
              value={model}
              onChange={(event) => setModel(event.target.value)}
              spellCheck={false}
            />
            <datalist id={list}>
              {[...new Set(upstream.models.map(({ upstream_model }) => upstream_model))].map((name) => (
                <option key={name} value={name} />
              ))}
            </datalist>
          </>
        )}
        <p role="status" className="text-soft">
          {run.isPending && t.testing}
        </p>
        <FormError error={run.error} />
      </div>
    </Dialog>
  );
}

/** The last test with all of its steps. */
export function TestResult({ test }: { test: UpstreamTest | null }) {
  const t = useText(upstreamsText);
  const found = useFindingText();
  return (
    <div className="mt-4 rounded-md border border-line">
      <div className="flex flex-wrap items-center gap-2 bg-panel px-3 py-2">
        <h3>{t.lastTest}</h3>
        {test === null ? (
          <span className="text-soft">{t.neverTested}</span>
        ) : (
          <>
            <Badge tone={test.ok ? 'good' : 'bad'} icon={test.ok ? 'ok' : 'fault'}>
              {test.ok ? t.testOk : t.testFailed({ step: t.steps({ name: test.failed_step ?? '' }) })}
            </Badge>
            <span className="text-sm text-soft">
              <When at={test.at} style="full" />
            </span>
          </>
        )}
      </div>
      {test !== null && (
        <DataTable
          caption={t.lastTest}
          rows={test.steps}
          rowKey={({ name }) => name}
          columns={[
            { name: t.step, cell: ({ name }) => t.steps({ name }) },
            { name: t.result, cell: (step) => <Outcome outcome={step.outcome} /> },
            {
              name: t.time,
              numeric: true,
              cell: ({ outcome, duration_ms }) => (outcome === 'not_run' || outcome === 'skipped' ? '' : durationText(duration_ms)),
            },
            { name: t.finding, cell: ({ what }) => found(what), className: 'wrap-anywhere' },
          ]}
        />
      )}
    </div>
  );
}

function Outcome({ outcome }: { outcome: TestStep['outcome'] }) {
  const t = useText(upstreamsText);
  switch (outcome) {
    case 'ok':
      return (
        <Badge tone="good" icon="ok">
          {t.ok}
        </Badge>
      );
    case 'failed':
      return (
        <Badge tone="bad" icon="fault">
          {t.failed}
        </Badge>
      );
    case 'skipped':
      return <Badge>{t.skipped}</Badge>;
    case 'not_run':
      return <Badge icon="open">{t.notTried}</Badge>;
  }
}
