// The page of a key: its state, limits, spend and actions.
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useParams, useSearchParams } from 'wouter';
import { type ApiKey, getKey } from '../../api/keys.js';
import { keysText } from '../../i18n/keys.js';
import { budgetsText } from '../../i18n/budgets.js';
import { projectsText } from '../../i18n/projects.js';
import { refusingText } from '../../i18n/refusing.js';
import { rateLimitsText } from '../../i18n/rate-limits.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Card, Facts, PageHeader, Section, Stat, Stats } from '../../ui/layout.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { Usd, When } from '../../ui/values.js';
import { BudgetBars } from '../projects/budget-bars.js';
import { useProjectName } from '../projects/queries.js';
import { useMembers } from '../usage/use-view.js';
import { RefusingNotice } from '../refusals/refusing.js';
import { isOff, type OpenAction, useToggle } from './key-actions.js';
import { UsageOf } from './key-usage.js';
import { KeyStateBadge, LimitBar, ModelChips, useStateMeaning } from './key-words.js';
import { ChangeKey, RevealKey } from './lazy-dialogs.js';
import { keyKey } from './queries.js';
import { RateLimitWords } from './form/rate-limit-fields.js';
import type { Revealed } from './secret/reveal-key.js';

export default function KeyPage() {
  const account = useAccount();
  const { key: id = '' } = useParams<{ key: string }>();
  const query = useQuery({
    queryKey: keyKey(account.id, id),
    queryFn: ({ signal }) => getKey(account.id, id, signal),
    refetchInterval: liveMs,
  });
  const t = useText(keysText);
  return (
    <>
      {query.data === undefined && query.error !== null && <PageHeader title={t.oneKey} back={[account.path('/keys'), t.title]} />}
      <Fetched query={query}>{(apiKey) => <Key apiKey={apiKey} />}</Fetched>
    </>
  );
}

function Key({ apiKey }: { apiKey: ApiKey }) {
  const account = useAccount();
  const [t, rateLimits, projects, budgets] = [useText(keysText), useText(rateLimitsText), useText(projectsText), useText(budgetsText)];
  const refusing = useText(refusingText);
  const projectName = useProjectName();
  const { memberName } = useMembers();
  const meaning = useStateMeaning();
  const toggle = useToggle();
  const [params, setParams] = useSearchParams();
  const [revealed, setRevealed] = useState<Revealed>();
  const [open, setOpen] = useState<OpenAction>();
  const mayChange = account.can('change keys', apiKey.project_id) && apiKey.state !== 'revoked';
  // `?edit` opens the form, so that other pages can lead to it. It stays open if the key is revoked meanwhile; the response to Save says why it failed.
  const [mightChange] = useState(mayChange);
  const shown: OpenAction | undefined = open ?? (mightChange && params.has('edit') ? { action: 'edit', apiKey } : undefined);

  function close(): void {
    setOpen(undefined);
    if (params.has('edit')) setParams({}, { replace: true });
  }

  return (
    <>
      <PageHeader
        title={apiKey.name}
        back={[account.path('/keys'), t.title]}
        description={
          <>
            <KeyStateBadge state={apiKey.state} /> {(apiKey.refusing === null || apiKey.state !== 'active') && meaning(apiKey)}
          </>
        }
        actions={
          mayChange && (
            <>
              <Button onClick={() => setOpen({ action: 'edit', apiKey })}>{t.edit}</Button>
              <Button onClick={() => setOpen({ action: 'rotate', apiKey })}>{t.rotate}</Button>
              <Button busy={toggle.isPending} onClick={() => toggle.mutate({ apiKey, state: isOff(apiKey) ? 'active' : 'disabled' })}>
                {isOff(apiKey) ? t.enable : t.disable}
              </Button>
              <Button look="danger" onClick={() => setOpen({ action: 'revoke', apiKey })}>
                {t.revoke}
              </Button>
            </>
          )
        }
      />
      {toggle.error !== null && <ErrorNotice error={toggle.error} />}
      <RefusingNotice
        apiKey={apiKey}
        enable={
          mayChange &&
          isOff(apiKey) && (
            <Button look="primary" busy={toggle.isPending} onClick={() => toggle.mutate({ apiKey, state: 'active' })}>
              {refusing.enableKey}
            </Button>
          )
        }
      />
      <Section title={t.limits} description={apiKey.limit_usd === null ? undefined : t.hardLimit}>
        <Stats>
          <Stat label={t.spent} value={<Usd value={apiKey.spent_usd} />} />
          <Stat label={t.held} value={<Usd value={apiKey.held_usd} />} />
          <Stat label={t.remaining} value={apiKey.remaining_usd === null ? t.noLimit : <Usd value={apiKey.remaining_usd} />} />
          <Stat label={t.limitShort} value={apiKey.limit_usd === null ? t.noLimit : <Usd value={apiKey.limit_usd} />} />
        </Stats>
        {apiKey.limit_usd !== null && apiKey.remaining_usd !== null && (
          <div className="-mt-3">
            <LimitBar spent={apiKey.spent_usd} held={apiKey.held_usd} limit={apiKey.limit_usd} remaining={apiKey.remaining_usd} />
          </div>
        )}
      </Section>
      {apiKey.budgets.length > 0 && (
        <Section title={budgets.title}>
          <Card>
            <BudgetBars budgets={apiKey.budgets} />
          </Card>
        </Section>
      )}
      <Section title={t.overview}>
        <Card>
          <Facts
            facts={[
              [
                t.keyId,
                <span key="id" className="inline-flex flex-wrap items-center gap-2">
                  <code>{apiKey.id}</code>
                  <CopyButton look="ghost" size="small" text={apiKey.id} />
                </span>,
              ],
              [t.endsIn, <code key="hint">…{apiKey.last_four}</code>],
              [
                projects.project,
                <Link key="project" className="link" to={account.path(`/projects/${apiKey.project_id}`)}>
                  {projectName(apiKey.project_id)}
                </Link>,
              ],
              [t.models, <ModelChips key="models" models={apiKey.models} all />],
              [t.addresses, apiKey.allowed_addresses.join(', ') || t.anyAddress],
              [rateLimits.title, <RateLimitWords key="rates" of="key" limits={apiKey.rate_limits} />],
              [t.created, <When key="created" at={apiKey.created_at} />],
              apiKey.created_by !== null && [t.createdBy, memberName(apiKey.created_by)],
              [t.expires, apiKey.expires_at === null ? t.expiresNever : <When key="expires" at={apiKey.expires_at} />],
              apiKey.former_secrets_until !== null &&
                apiKey.state === 'rotating' && [t.oldSecret, <When key="old" at={apiKey.former_secrets_until} />],
              apiKey.revoked_at !== null && [t.revokedAt, <When key="revoked" at={apiKey.revoked_at} />],
              [t.lastUsed, <LastUse key="used" apiKey={apiKey} />],
            ]}
          />
        </Card>
      </Section>
      <UsageOf filter={{ key: apiKey.id }} />
      <ChangeKey open={shown} onClose={close} onRevealed={setRevealed} />
      {revealed !== undefined && <RevealKey key={revealed.secret} revealed={revealed} onClose={() => setRevealed(undefined)} />}
    </>
  );
}

function LastUse({ apiKey }: { apiKey: ApiKey }) {
  const account = useAccount();
  const t = useText(keysText);
  if (apiKey.last_used_at === null) return t.neverUsed;
  return (
    <>
      <When at={apiKey.last_used_at} style="relative" /> · <code>{apiKey.last_used_model}</code> ·{' '}
      <Link className="link" to={account.path(`/usage/records/${apiKey.last_used_request_id}`)}>
        {t.lastCall}
      </Link>
    </>
  );
}
