// Waits for a call with a key, and turns green when it is recorded. Can also send a test call.
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ApiKey } from '../../../api/keys.js';
import { callModel } from '../../../api/playground.js';
import { listRecords } from '../../../api/usage.js';
import { consoleUrl } from '../../../base.js';
import { usdText } from '../../../format/money.js';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { useAccount } from '../../../session/account.js';
import { liveMs } from '../../../session/queries.js';
import { Button } from '../../../ui/button.js';
import { FormError, Notice } from '../../../ui/notice.js';

const testTokensMax = 64;
const testTimeoutMs = 60_000;

/** `since`: only calls that started then or later; absent for a new key. `model`: the model that a test call is sent to. */
export function FirstCall({ apiKey, since, model }: { apiKey: ApiKey; since?: string; model: string }) {
  const account = useAccount();
  const t = useText(keysText);
  const { data, refetch } = useQuery({
    queryKey: ['first-call', account.id, apiKey.id, since],
    queryFn: ({ signal }) => listRecords(account.id, { key: apiKey.id, from: since, limit: 1 }, signal),
    refetchInterval: (query) => (query.state.data?.data.length === 1 ? false : liveMs),
  });
  const test = useMutation({
    async mutationFn() {
      const call = { model, messages: [{ role: 'user' as const, content: t.testMessage }], max_tokens: testTokensMax };
      for await (const piece of callModel(account.id, apiKey.id, call, AbortSignal.timeout(testTimeoutMs), () => undefined)) void piece;
    },
    onSuccess: () => refetch(),
  });
  const record = data?.data[0];
  return (
    <div role="status">
      {record === undefined ? (
        <>
          <Notice
            tone="info"
            title={since === undefined ? t.waitingFirst : t.waitingNext}
            action={
              since === undefined && (
                <Button busy={test.isPending} onClick={() => test.mutate()}>
                  {t.sendTest}
                </Button>
              )
            }
          >
            <p>{since === undefined ? t.waitingFirstHint({ model }) : t.waitingHint}</p>
          </Notice>
          <FormError error={test.error} />
        </>
      ) : (
        <Notice tone="good" title={t.called}>
          <p>
            {t.calledFact({ model: record.model, cost: usdText(record.charge_usd) })}{' '}
            {/* In a new window, because this page may still show a secret. */}
            <a className="link" target="_blank" rel="noreferrer" href={consoleUrl(account.path(`/usage/records/${record.request_id}`))}>
              {t.record}
            </a>
          </p>
        </Notice>
      )}
    </div>
  );
}
