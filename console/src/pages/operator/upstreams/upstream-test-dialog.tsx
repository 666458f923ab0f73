// Tests an upstream step by step.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useId, useState } from 'react';
import { catalogKeys, testUpstream, type Upstream } from '../../../api/operator-catalog.js';
import { usdText } from '../../../format/money.js';
import { commonText } from '../../../i18n/common.js';
import { upstreamDialogsText } from '../../../i18n/operator-upstream-dialogs.js';
import { useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { CheckField, TextField } from '../../../ui/field.js';
import { FormError } from '../../../ui/notice.js';

/** Offers to make a test call too, and shows what it costs. */
export function TestDialog({ upstream, onClose }: { upstream: Upstream; onClose: () => void }) {
  const t = useText(upstreamDialogsText);
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
