// What a key has been used for of late.
import { useQuery } from '@tanstack/react-query';
import { Link } from 'wouter';
import { getTotals, listRecords, type UsageRecord } from '../../api/usage.js';
import { dayNames, dayStart } from '../../format/days.js';
import { nanoUsdOf, usdText } from '../../format/money.js';
import { useNumber } from '../../format/number.js';
import { offsetMinutes, useZone, zoneName } from '../../format/time.js';
import { keysText } from '../../i18n/keys.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Card, Section, Stat, Stats } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { StackedBars } from '../../ui/stacked-bars.js';
import { DataTable } from '../../ui/table.js';
import { Usd, When } from '../../ui/values.js';
import { EndingBadge } from '../usage/ending.js';

const days = 30;
const recordsShown = 5;
const sumsMs = 10_000;

export function KeyUsage({ keyId }: { keyId: string }) {
  const account = useAccount();
  const t = useText(keysText);
  const from = dayStart(days - 1, offsetMinutes(useZone())).toISOString();
  const total = useQuery({ queryKey: ['usage', account.id, 'total', keyId, from], queryFn: ({ signal }) => getTotals(account.id, { key: keyId, from }, signal), refetchInterval: sumsMs });
  const count = useNumber();
  return (
    <>
      <Section title={t.usage30}>
        <Fetched query={total}>
          {({ data: [sum] }) => (
            <Stats>
              <Stat label={t.spend} value={<Usd value={sum?.charge_usd ?? '0'} />} />
              <Stat label={t.calls} value={count(sum?.calls ?? 0)} />
              <Stat label={t.inputTokens} value={count(sum?.tokens.input ?? 0)} />
              <Stat label={t.outputTokens} value={count(sum?.tokens.output ?? 0)} />
            </Stats>
          )}
        </Fetched>
        <SpendByDay keyId={keyId} from={from} />
      </Section>
      <LatestCalls keyId={keyId} />
    </>
  );
}

function SpendByDay({ keyId, from }: { keyId: string; from: string }) {
  const account = useAccount();
  const t = useText(keysText);
  const zone = useZone();
  const offset = offsetMinutes(zone);
  const query = useQuery({
    queryKey: ['usage', account.id, 'by-day', keyId, from, offset],
    queryFn: ({ signal }) => getTotals(account.id, { key: keyId, from, group_by: 'day', tz_offset: offset }, signal),
    refetchInterval: sumsMs,
  });
  return (
    <Fetched query={query}>
      {({ data }) => {
        if (data.length === 0) return null;
        const byDay = new Map(data.map((group) => [group.name, group.charge_usd]));
        // Days without calls are not told; a chart without them would be no measure of time.
        const names = dayNames(days, offset);
        const spent = names.map((name) => byDay.get(name) ?? '0');
        return (
          <StackedBars
            title={t.spendByDay({ zone: zoneName(zone) })}
            series={[t.spend]}
            bars={names.map((name, index) => ({ id: name, label: name.slice(5), values: [Number(nanoUsdOf(spent[index]!))] }))}
            text={(bar) => usdText(spent[bar]!)}
            totalText={(bar) => usdText(spent[bar]!)}
            axisText={(nano) => `$${Number((nano / 1e9).toPrecision(2))}`}
            labelName={t.day}
            totalName={t.spend}
          />
        );
      }}
    </Fetched>
  );
}

function LatestCalls({ keyId }: { keyId: string }) {
  const account = useAccount();
  const t = useText(keysText);
  const query = useQuery({
    queryKey: ['usage', account.id, 'latest', keyId],
    queryFn: ({ signal }) => listRecords(account.id, { key: keyId, limit: recordsShown }, signal),
    refetchInterval: liveMs,
  });
  return (
    <Section
      title={t.latestCalls}
      actions={
        <Link className="link" to={account.path(`/usage/records?key=${keyId}`)}>
          {t.allRecords}
        </Link>
      }
    >
      <Fetched query={query}>
        {({ data }) =>
          data.length === 0 ? (
            <p className="text-soft">{t.noCalls}</p>
          ) : (
            <Card flush>
              <DataTable<UsageRecord>
                caption={t.latestCalls}
                rows={data}
                rowKey={({ request_id }) => request_id}
                columns={[
                  {
                    name: t.time,
                    cell: (record) => (
                      <Link className="link" to={account.path(`/usage/records/${record.request_id}`)}>
                        <When at={record.started_at} />
                      </Link>
                    ),
                  },
                  { name: t.model, cell: ({ model }) => <code>{model}</code> },
                  { name: t.ending, cell: ({ ending }) => <EndingBadge ending={ending} /> },
                  { name: t.cost, numeric: true, cell: (record) => <Usd value={record.charge_usd} /> },
                ]}
              />
            </Card>
          )
        }
      </Fetched>
    </Section>
  );
}
