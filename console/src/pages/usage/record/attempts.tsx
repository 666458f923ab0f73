// The attempts of a call, in order, with their results. Only operators see the upstreams.
import type { ReactNode } from 'react';
import type { Attempt, AttemptOutcome, UsageRecordDetail } from '../../../api/usage.js';
import { gatewayUrl } from '../../../base.js';
import { durationText } from '../../../format/duration.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { Badge } from '../../../ui/badge.js';
import { CopyButton } from '../../../ui/copy.js';
import { Section } from '../../../ui/layout.js';

const looks = {
  answered: { tone: 'good', icon: 'ok' },
  broke_off: { tone: 'bad', icon: 'fault' },
  failed: { tone: 'bad', icon: 'fault' },
  abandoned: { tone: 'warn', icon: 'stopped' },
} as const satisfies Record<AttemptOutcome, object>;

export function RecordAttempts({ record }: { record: UsageRecordDetail }) {
  const t = useText(usageText);
  const { attempts, upstream } = record;
  return (
    <Section title={t.attempts} description={t.attemptsHint}>
      {attempts.length === 0 ? (
        <p>
          {t.noAttempts} {upstream !== undefined && <At upstream={upstream} />}
        </p>
      ) : (
        <ol aria-label={t.attempts} className="list-decimal pl-6">
          {attempts.map((attempt) => (
            <Row key={attempt.number} attempt={attempt} callStartedAt={record.started_at} />
          ))}
        </ol>
      )}
    </Section>
  );
}

function Row({ attempt, callStartedAt }: { attempt: Attempt; callStartedAt: string }) {
  const t = useText(usageText);
  const { outcome, reason, upstream, http_status: status, upstream_request_id: theirId, credential } = attempt;
  const after = durationText(Date.parse(attempt.started_at) - Date.parse(callStartedAt));
  return (
    <li className="mb-3 pl-1">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Badge wraps {...looks[outcome]}>
          {t[`attempt_${outcome}`]}
        </Badge>
        {upstream !== undefined && <At upstream={upstream} />}
      </div>
      <p className="mt-1 text-sm text-soft">{t.attemptTimes({ after, took: durationText(attempt.duration_ms) })}</p>
      {reason !== null && (
        <Line name={t.attemptReason}>
          <a className="link" href={`${gatewayUrl}docs/errors/${reason}`}>
            <code>{reason}</code>
          </a>
          {status != null && ` · HTTP ${status}`}
        </Line>
      )}
      {attempt.chosen_by === 'prefix' && <p className="text-sm">{t.chosenByPrefix}</p>}
      {attempt.chosen_by === 'hedge' && <p className="text-sm">{t.chosenByHedge}</p>}
      {credential != null && (
        <Line name={t.credential}>
          <code>{credential}</code>
        </Line>
      )}
      {theirId != null && (
        <Line name={t.theirRequestId}>
          <code className="wrap-anywhere">{theirId}</code> <CopyButton text={theirId} label={t.copyTheirId} size="small" look="ghost" />
        </Line>
      )}
    </li>
  );
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <p className="text-sm">
      <span className="text-soft">{name}:</span> {children}
    </p>
  );
}

/** Shows an upstream and its name of the model. */
function At({ upstream: { id, model } }: { upstream: { readonly id: string; readonly model: string } }) {
  return (
    <span className="wrap-anywhere">
      <code>{id}</code> · <code>{model}</code>
    </span>
  );
}
