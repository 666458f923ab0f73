// The health of the whole system, for operators.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { checkLedger, getHealth, type Health, operatorKeys } from '../../api/operator.js';
import { catalogKeys, listTargets } from '../../api/operator-catalog.js';
import { healthText } from '../../i18n/operator-health.js';
import { useText } from '../../i18n/text.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import { Card, Facts, PageHeader, Section } from '../../ui/layout.js';
import { ErrorNotice } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { targetRows } from './upstreams/target-rows.js';

const unsettledCommand = 'tollgate usage unsettled';
const refreshMs = 5000;
/** Further mismatches are in the gateway's log and in the API. */
const driftsShown = 10;

export default function HealthPage() {
  const t = useText(healthText);
  const query = useQuery({ queryKey: operatorKeys.health, queryFn: ({ signal }) => getHealth(signal), refetchInterval: refreshMs });
  return (
    <>
      <PageHeader title={t.title} description={t.description} />
      <Fetched query={query}>
        {(health) => (
          <>
            <Gateway health={health} />
            <Money health={health} />
            <Services health={health} />
            <Upstreams health={health} />
          </>
        )}
      </Fetched>
    </>
  );
}

/** A word for a good or a bad state. */
function Verdict({ good, children }: { good: boolean; children: ReactNode }) {
  return (
    <Badge tone={good ? 'good' : 'bad'} icon={good ? 'ok' : 'fault'}>
      {children}
    </Badge>
  );
}

function Gateway({ health: { gateway, mode } }: { health: Health }) {
  const t = useText(healthText);
  const { spool, feeds } = gateway;
  const feed = ({ live, silent_ms }: Health['gateway']['feeds']['keys']) =>
    live ? t.feedLive({ ms: silent_ms ?? 0 }) : <Verdict good={false}>{t.feedSilent}</Verdict>;
  return (
    <Section title={t.gateway} actions={<Verdict good={gateway.ready}>{gateway.ready ? t.ready : t.notReady}</Verdict>}>
      <Card>
        <Facts
          facts={[
            gateway.missing.length > 0 && [t.state, t.missing({ parts: gateway.missing.join(', ') })],
            [t.mode, mode === null ? t.unknown : t[mode]],
            [t.version, gateway.version],
            [t.node, gateway.node_version],
            [t.since, <When key="since" at={gateway.started_at} style="second" />],
            [t.calls, gateway.calls],
            [t.spool, t.spoolText({ waiting: spool.waiting, refused: spool.refused, damaged: spool.damaged_files })],
            [t.feedKeys, feed(feeds.keys)],
            [t.feedCatalog, feed(feeds.catalog)],
          ]}
        />
      </Card>
    </Section>
  );
}

function Money({ health }: { health: Health }) {
  const { holds, outbox, notifications, quarantined_last_hour, reconciliation } = health;
  const t = useText(healthText);
  const client = useQueryClient();
  const check = useMutation({ mutationFn: checkLedger, onSuccess: () => client.invalidateQueries({ queryKey: operatorKeys.health }) });
  const last = check.data ?? health.ledger_check;
  const oldest = (at: string | null) =>
    at !== null && (
      <>
        , {t.oldest} <When at={at} style="relative" />
      </>
    );
  return (
    <Section
      title={t.money}
      actions={
        <Button busy={check.isPending} onClick={() => check.mutate()}>
          {t.checkNow}
        </Button>
      }
    >
      {check.error !== null && <ErrorNotice error={check.error} />}
      <Card>
        <Facts
          facts={[
            [
              t.ledgerCheck,
              last === null ? (
                t.checkNever
              ) : (
                <span key="check" role="status">
                  <Verdict good={last.ok}>{last.ok ? t.checkRight : t.checkWrong({ drifts: last.drift_count })}</Verdict>{' '}
                  <span className="text-soft">
                    {t.checkText({ entries: last.entries_checked, accounts: last.accounts_checked, sum: last.sum_usd })},{' '}
                    <When at={last.at} style="relative" />
                  </span>
                </span>
              ),
            ],
            holds !== null && [
              t.holds,
              <span key="holds">
                {holds.open}
                {oldest(holds.oldest_at)}
              </span>,
            ],
            outbox !== null && [
              t.outbox,
              <span key="outbox">
                {outbox.waiting}
                {oldest(outbox.oldest_at)}
              </span>,
            ],
            outbox !== null && [
              t.refused,
              outbox.refused === 0 ? (
                0
              ) : (
                <span key="refused">
                  <Verdict good={false}>{outbox.refused}</Verdict> {t.refusedHint} <code>{unsettledCommand}</code>
                </span>
              ),
            ],
            notifications !== null && [
              t.notifications,
              <span key="notifications">
                {notifications.waiting}
                {oldest(notifications.oldest_at)}
              </span>,
            ],
            quarantined_last_hour !== null && [
              t.quarantined,
              quarantined_last_hour === 0 ? (
                0
              ) : (
                <Verdict key="quarantined" good={false}>
                  {quarantined_last_hour}
                </Verdict>
              ),
            ],
            reconciliation !== null && [t.drifts, <Drifts key="drifts" found={reconciliation} />],
          ]}
        />
      </Card>
    </Section>
  );
}

function Drifts({ found: { drifts, recent, full } }: { found: NonNullable<Health['reconciliation']> }) {
  const t = useText(healthText);
  return (
    <>
      <Verdict good={drifts.length === 0}>{drifts.length}</Verdict>
      {recent !== null && (
        <span className="text-soft">
          {' '}
          {t.lastCompared} <When at={recent.finished_at} style="relative" />
          {full !== null && (
            <>
              , {t.fully} <When at={full.finished_at} style="relative" />
            </>
          )}
        </span>
      )}
      {drifts.length > 0 && (
        <ul className="mt-1 text-sm">
          {drifts.slice(0, driftsShown).map(({ check, request_id, account_id, what }) => (
            <li key={`${check} ${request_id ?? ''} ${account_id ?? ''} ${what}`}>
              {what} <code>{request_id ?? account_id}</code>
            </li>
          ))}
          {drifts.length > driftsShown && <li className="text-soft">{t.driftsMore({ count: drifts.length - driftsShown })}</li>}
        </ul>
      )}
    </>
  );
}

function Services({ health: { services } }: { health: Health }) {
  const t = useText(healthText);
  return (
    <Section title={t.services}>
      <Card flush>
        <DataTable
          caption={t.services}
          rows={services}
          rowKey={({ name }) => name}
          columns={[
            { name: t.service, cell: ({ name }) => name },
            {
              name: t.state,
              cell: ({ ready, fault }) => (
                <>
                  <Verdict good={ready}>{ready ? t.up : t.unavailable}</Verdict>
                  {fault !== null && <span className="block text-sm text-soft wrap-anywhere">{fault}</span>}
                </>
              ),
            },
            { name: t.version, cell: ({ version }) => version ?? '–' },
            { name: t.node, cell: ({ node_version }) => node_version ?? '–' },
            {
              name: t.database,
              cell: ({ database }) =>
                database === null
                  ? '–'
                  : t.databaseText({ engine: database.engine, version: database.version, ms: (database.answer_us / 1000).toFixed(1) }),
            },
            { name: t.since, cell: ({ started_at }) => <When at={started_at} style="second" /> },
          ]}
        />
      </Card>
    </Section>
  );
}

function Upstreams({ health: { upstreams } }: { health: Health }) {
  const t = useText(healthText);
  const targets = useQuery({ queryKey: catalogKeys.targets, queryFn: ({ signal }) => listTargets(signal), refetchInterval: refreshMs });
  if (upstreams === null) return null;
  const targetsOf = ({ id, enabled }: (typeof upstreams)[number]) => {
    const rows = targetRows((targets.data?.data ?? []).filter(({ upstream_id }) => upstream_id === id)).filter(
      ({ credential }) => credential === null,
    );
    const out = rows.filter(({ state }) => state !== 'available' && state !== 'unknown');
    if (rows.length === 0 || !enabled) return '–';
    return <Verdict good={out.length === 0}>{out.length === 0 ? t.noneOut : t.someOut({ out: out.length, all: rows.length })}</Verdict>;
  };
  return (
    <Section title={t.upstreams}>
      <Card flush>
        <DataTable
          caption={t.upstreams}
          rows={upstreams}
          rowKey={({ id }) => id}
          columns={[
            {
              name: t.upstream,
              className: 'wrap-anywhere',
              cell: ({ id }) => (
                <Link to="/operator/upstreams" className="link">
                  {id}
                </Link>
              ),
            },
            { name: t.state, cell: ({ enabled }) => (enabled ? t.enabled : t.disabled) },
            { name: t.outOfService, cell: targetsOf },
            {
              name: t.lastTest,
              cell: ({ last_test }) =>
                last_test === null ? (
                  t.neverTested
                ) : (
                  <>
                    <Verdict good={last_test.ok}>{last_test.ok ? t.passed : t.failed}</Verdict> <When at={last_test.at} style="relative" />
                  </>
                ),
            },
          ]}
        />
      </Card>
    </Section>
  );
}
