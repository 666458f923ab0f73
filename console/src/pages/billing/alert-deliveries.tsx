// The notifications that were sent for an alert, with their recipients and responses.
import { useQuery } from '@tanstack/react-query';
import { type AlertNow, type Delivery, listDeliveries } from '../../api/alerts.js';
import { useTime } from '../../format/time.js';
import { alertsText } from '../../i18n/alerts.js';
import { useFindingText } from '../../i18n/finding-text.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { Disclosure } from '../../ui/disclosure.js';
import { Notice } from '../../ui/notice.js';
import { DataTable } from '../../ui/table.js';
import { When } from '../../ui/values.js';
import { useReasonName } from '../refusals/reasons.js';
import { DeliveryState } from './delivery-state.js';
import { Listed, KeyLink } from './parts.js';

const deliveriesKey = (accountId: string, ...rest: readonly string[]): readonly string[] => ['alerts', accountId, 'deliveries', ...rest];
const refetchMs = 5000;

/** The results of a test, one line for each destination. */
export function TestResult({ deliveries }: { deliveries: readonly Delivery[] }) {
  const t = useText(alertsText);
  const found = useFindingText();
  return (
    <div role="status">
      <p className="mb-1 font-medium">{t.tested}</p>
      <ul className="flex flex-col gap-1">
        {deliveries.map(({ id, state, destination, outcome }) => (
          <li key={id} className="flex flex-wrap items-center gap-x-2">
            <DeliveryState state={state} texts={t} />
            <span className="wrap-anywhere">{destination}</span>
            <span className="text-soft wrap-anywhere">{found(outcome)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Destinations whose newest message did not arrive. */
export function FailingDestinations({ alert }: { alert: AlertNow }) {
  const t = useText(alertsText);
  const found = useFindingText();
  const account = useAccount();
  const { data } = useQuery({
    queryKey: deliveriesKey(account.id, 'newest'),
    queryFn: ({ signal }) => listDeliveries(account.id, null, signal),
    refetchInterval: refetchMs,
    enabled: alert.threshold_usd !== null,
  });
  const failing = alert.emails.flatMap((destination) => {
    const newest = data?.data.find((delivery) => delivery.destination === destination && delivery.state !== 'pending');
    return newest?.state === 'failed' ? [newest] : [];
  });
  if (failing.length === 0) return null;
  return (
    <Notice tone="bad" title={t.failing}>
      <ul>
        {failing.map(({ id, destination, outcome }) => (
          <li key={id} className="wrap-anywhere">
            {destination}: {found(outcome)}
          </li>
        ))}
      </ul>
    </Notice>
  );
}

/** The log, newest first. */
export function Deliveries() {
  const t = useText(alertsText);
  const found = useFindingText();
  const account = useAccount();
  const time = useTime();
  const reasonName = useReasonName();
  return (
    <div className="mt-3">
      <Disclosure summary={t.deliveries}>
        <Listed
          queryKey={deliveriesKey(account.id)}
          fetch={(cursor, signal) => listDeliveries(account.id, cursor, signal)}
          refetchInterval={refetchMs}
        >
          {(pages) => {
            const deliveries = pages.flatMap(({ data }) => data);
            if (deliveries.length === 0) return <p className="text-soft">{t.noDeliveries}</p>;
            return (
              <DataTable
                caption={t.deliveries}
                rows={deliveries}
                rowKey={({ id }) => id}
                room="most"
                dense
                className="two-lines"
                columns={[
                  { name: t.time, className: 'line-1', cell: ({ created_at }) => <When at={created_at} style="line" /> },
                  {
                    name: t.what,
                    className: 'line-2 cut widest',
                    cell: ({ test, budget, threshold_usd: threshold, refused_key: refused }) =>
                      refused !== null ? (
                        <>
                          <KeyLink keyId={refused.key_id} /> {t.whatRefused({ why: reasonName(refused.reason) })}
                        </>
                      ) : budget === null ? (
                        threshold === null ? (
                          t.whatWebhook
                        ) : test ? (
                          t.whatTest
                        ) : (
                          t.whatLow
                        )
                      ) : (
                        t[`${budget.scope}Budget`]({ percent: budget.percent })
                      ),
                  },
                  {
                    name: t.destination,
                    className: 'line-2 cut',
                    cell: ({ destination }) => <span title={destination}>{destination}</span>,
                  },
                  { name: t.state, className: 'line-1 grow', cell: ({ state }) => <DeliveryState state={state} texts={t} /> },
                  { name: t.tries, numeric: true, cell: ({ attempts }) => attempts },
                  {
                    name: t.outcome,
                    className: 'cut wide',
                    cell: ({ outcome, next_attempt_at: next }) => {
                      const text =
                        next === null
                          ? found(outcome)
                          : `${found(outcome)}${outcome === '' ? '' : '; '}${t.nextTry({ when: time.minute(next) })}`;
                      return <span title={text}>{text}</span>;
                    },
                  },
                ]}
              />
            );
          }}
        </Listed>
      </Disclosure>
    </div>
  );
}
