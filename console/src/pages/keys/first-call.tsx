// Waits for a call with a key, and turns green when it is on record.
import { useQuery } from '@tanstack/react-query';
import type { ApiKey } from '../../api/keys.js';
import { listRecords } from '../../api/usage.js';
import { consoleUrl } from '../../base.js';
import { usdText } from '../../format/money.js';
import { keysText } from '../../i18n/keys.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { Notice } from '../../ui/notice.js';

/** `since`: only calls that started then or later; absent for a key that is new. */
export function FirstCall({ apiKey, since }: { apiKey: ApiKey; since?: string }) {
  const account = useAccount();
  const t = useText(keysText);
  const { data } = useQuery({
    queryKey: ['first-call', account.id, apiKey.id, since],
    queryFn: ({ signal }) => listRecords(account.id, { key: apiKey.id, from: since, limit: 1 }, signal),
    refetchInterval: (query) => (query.state.data?.data.length === 1 ? false : liveMs),
  });
  const record = data?.data[0];
  return (
    <div role="status">
      {record === undefined ? (
        <Notice tone="info" title={since === undefined ? t.waitingFirst : t.waitingNext}>
          <p>{t.waitingHint}</p>
        </Notice>
      ) : (
        <Notice tone="good" title={t.called}>
          <p>
            {t.calledFact({ model: record.model, cost: usdText(record.charge_usd) })}{' '}
            {/* In a page of its own: this one may still hold a secret. */}
            <a className="link" target="_blank" rel="noreferrer" href={consoleUrl(account.path(`/usage/records/${record.request_id}`))}>
              {t.record}
            </a>
          </p>
        </Notice>
      )}
    </div>
  );
}
