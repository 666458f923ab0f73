// The result of the test of an upstream, which stays until the upstream is changed.
import type { TestStep, UpstreamTest } from '../../../api/operator-catalog.js';
import { durationText } from '../../../format/duration.js';
import { useFindingText } from '../../../i18n/finding-text.js';
import { upstreamsText } from '../../../i18n/operator-upstreams.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { DataTable } from '../../../ui/table.js';
import { When } from '../../../ui/values.js';

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
