// The newest calls that failed, each with its record.
import { useQuery } from '@tanstack/react-query';
import { listErrors } from '../../api/usage.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { NewestRecords } from '../usage/records/newest-records.js';

const shown = 5;
const errorsMs = 5000;

export function LatestErrors() {
  const account = useAccount();
  const t = useText(homeText);
  const query = useQuery({
    queryKey: ['usage', account.id, 'errors'],
    queryFn: ({ signal }) => listErrors(account.id, shown, signal),
    refetchInterval: errorsMs,
  });
  return (
    <NewestRecords
      query={query}
      title={t.errors}
      none={t.noErrors}
      all={{ name: t.allRecords, path: '/usage/records' }}
      columns={t}
      withDetail
    />
  );
}
