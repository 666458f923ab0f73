// One call: its usage, how its charge is calculated, and what happened to its hold.
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link, useSearch } from 'wouter';
import { ApiError } from '../../../api/client.js';
import { getRecord, type Outcome, type UsageRecord, type UsageRecordDetail } from '../../../api/usage.js';
import { useSettings } from '../../../session/settings.js';
import { gatewayUrl } from '../../../base.js';
import { durationText } from '../../../format/duration.js';
import { useNumber } from '../../../format/number.js';
import { commonText } from '../../../i18n/common.js';
import { usageText } from '../../../i18n/usage.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { liveMs } from '../../../session/queries.js';
import { CopyButton } from '../../../ui/copy.js';
import { Facts, PageHeader, Section } from '../../../ui/layout.js';
import { Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { When } from '../../../ui/values.js';
import { useProjectName } from '../../projects/queries.js';
import { OutcomeBadge } from '../outcome.js';
import { RefusedInstead } from '../../refusals/refusal-table.js';
import { RecordAttempts } from './attempts.js';
import { RecordCharge } from './charge.js';
import { RecordMoney } from './money.js';
import { RecordPrompt } from './prompt.js';
import { useKeyNames } from '../../keys/key-names.js';

/** The call as a page, for a user who opens its address. */
export function RecordPage({ requestId }: { requestId: string }) {
  const t = useText(usageText);
  const account = useAccount();
  const search = useSearch();
  return (
    <>
      <PageHeader
        title={useRecordTitle(requestId)}
        back={[account.path(`/usage/records${search === '' ? '' : `?${search}`}`), t.records]}
      />
      <div className="max-w-3xl">
        <RecordDetails requestId={requestId} />
      </div>
    </>
  );
}

function useRecord(requestId: string) {
  const account = useAccount();
  return useQuery({
    queryKey: ['usage', account.id, 'record', requestId],
    queryFn: ({ signal }) => getRecord(account.id, requestId, signal),
    refetchInterval: ({ state }) =>
      state.data !== undefined && (state.data.settlement === null || state.data.prompt_log === 'pending') ? liveMs : false,
  });
}

const isMissing = (error: Error | null): boolean => error instanceof ApiError && error.code === 'not_found';

/** Returns the title of the details: a refused call has no usage record. */
export function useRecordTitle(requestId: string): string {
  const t = useText(usageText);
  return isMissing(useRecord(requestId).error) ? t.call : t.record;
}

export function RecordDetails({ requestId }: { requestId: string }) {
  const query = useRecord(requestId);
  const fetched = <Fetched query={query}>{(record) => <Details record={record} />}</Fetched>;
  return isMissing(query.error) ? <RefusedInstead requestId={requestId} otherwise={fetched} /> : fetched;
}

/** The outcomes after which nothing of a non-streamed answer was delivered. */
const undelivered: readonly Outcome[] = ['upstream_error_after_output', 'timeout', 'gateway_error', 'gateway_lost'];

function Details({ record }: { record: UsageRecordDetail }) {
  const [t, common] = [useText(usageText), useText(commonText)];
  return (
    <>
      <div className="mb-3 flex flex-wrap items-center gap-x-3 gap-y-2">
        <code className="wrap-anywhere">{record.request_id}</code>
        <OutcomeBadge outcome={record.outcome} />
      </div>
      <div className="mb-5 flex flex-wrap gap-2">
        <CopyButton text={record.request_id} label={common.copyId} size="small" />
        <CopyButton text={JSON.stringify(record, null, 2)} label={t.copyJson} size="small" />
      </div>
      <p className="mb-5">
        {!record.stream && undelivered.includes(record.outcome) ? t.ruleWhole : t[`rule_${record.outcome}`]}{' '}
        <DocsLink page="charging#the-outcomes">{t.outcomeRule}</DocsLink>
        {record.outcome_detail !== null && (
          <span className="block text-soft">
            {t.detail}: <code>{record.outcome_detail}</code>
          </span>
        )}
      </p>
      {record.quarantined && (
        <Notice tone="warn" title={t.quarantined}>
          {t.quarantinedHint} <DocsLink page="charging#where-token-counts-come-from">{t.rules}</DocsLink>
        </Notice>
      )}
      <RecordCharge record={record} />
      <RecordMoney record={record} />
      <RecordPrompt record={record} />
      <TheCall record={record} />
      <RecordAttempts record={record} />
    </>
  );
}

function TheCall({ record }: { record: UsageRecord }) {
  const t = useText(usageText);
  const account = useAccount();
  const count = useNumber();
  const { nameOf } = useKeyNames();
  const projectName = useProjectName();
  return (
    <Section title={t.theCall}>
      <Facts
        facts={[
          [t.started, <When key="started" at={record.started_at} style="full" />],
          [
            t.project,
            <Link key="project" className="link" to={account.path(`/projects/${record.project_id}`)}>
              {projectName(record.project_id)}
            </Link>,
          ],
          [
            t.key,
            <Link key="key" className="link" to={account.path(`/keys/${record.key_id}`)}>
              {nameOf(record.key_id)}
            </Link>,
          ],
          [
            t.model,
            <a key="model" className="link" href={`${gatewayUrl}models/${record.model}`}>
              {record.model}
            </a>,
          ],
          record.fallback_reason !== null && [
            t.requestedModel,
            t.fallbackReason({ model: record.requested_model, percent: record.fallback_reason.spent_percent }),
          ],
          [t.kind, record.stream ? t.streamed : t.whole],
          [t.format, record.format],
          [t.firstToken, record.first_output_ms === null ? t.noOutput : durationText(record.first_output_ms)],
          [t.duration, durationText(record.duration_ms)],
          [t.outputCap, t.outputCapTokens({ count: count(record.output_cap_tokens) })],
          [
            t.source,
            record.usage_source === 'reported' ? (
              t.sourceReported
            ) : (
              <>
                {t.sourceEstimated}. {t.sourceEstimatedHint}{' '}
                <DocsLink page="charging#where-token-counts-come-from">{t.howCounted}</DocsLink>
              </>
            ),
          ],
          [t.traceId, <Trace key="trace" traceId={record.trace_id} />],
          record.client_request_id !== null && [t.clientRequestId, <code key="client">{record.client_request_id}</code>],
        ]}
      />
    </Section>
  );
}

function Trace({ traceId }: { traceId: string | null }) {
  const t = useText(usageText);
  const template = useSettings()?.trace_url;
  if (traceId === null) return <span className="text-soft">{t.notTraced}</span>;
  return (
    <span className="flex flex-wrap items-center gap-2">
      <code>{traceId}</code>
      <CopyButton text={traceId} label={t.copyTrace} size="small" look="ghost" />
      {template != null && (
        <a className="link" target="_blank" rel="noreferrer" href={template.replaceAll('{trace_id}', traceId)}>
          {t.openTrace}
        </a>
      )}
    </span>
  );
}

/** A link to a page of the docs. */
function DocsLink({ page, children }: { page: string; children: ReactNode }) {
  return (
    <a className="link" href={`${gatewayUrl}docs/${page}`}>
      {children}
    </a>
  );
}
