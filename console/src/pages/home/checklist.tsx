// The checklist of a new account; each step is detected when it is done. It disappears when all are done, or when it is hidden.
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { api } from '../../api/client.js';
import { listKeys } from '../../api/keys.js';
import { listRecords } from '../../api/usage.js';
import { storedChoice } from '../../format/stored-choice.js';
import { type AccountInUse, useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { serverFile } from '../../session/server-file.js';
import type { Progress } from './checklist-steps.js';

const Steps = lazy(() => serverFile(() => import('./checklist-steps.js')));

export function Checklist() {
  const account = useAccount();
  const [choice] = useState(() => storedChoice(`tollgate.checklist.${account.id}`, ['shown', 'hidden'], () => 'shown'));
  const isShown = choice.use() === 'shown';
  return isShown ? <Unfinished onHide={() => choice.set('hidden')} /> : null;
}

function Unfinished({ onHide }: { onHide: () => void }) {
  const progress = useProgress(useAccount());
  if (progress === undefined || Object.values(progress.done).every(Boolean)) return null;
  return (
    <Suspense>
      <Steps progress={progress} onHide={onHide} />
    </Suspense>
  );
}

/** Undefined until the progress of the account is known, so that nothing flashes. */
function useProgress(account: AccountInUse): Progress | undefined {
  const mayInvite = account.can('change members');
  const keys = useQuery({
    queryKey: ['keys', account.id, 'first'],
    queryFn: ({ signal }) => listKeys(account.id, { limit: 200 }, signal),
    refetchInterval: liveMs,
  });
  const calls = useQuery({
    queryKey: ['usage', account.id, 'first'],
    queryFn: ({ signal }) => listRecords(account.id, { limit: 1 }, signal),
    refetchInterval: (query) => (query.state.data?.data.length === 1 ? false : liveMs),
  });
  const members = useQuery({
    queryKey: ['members', account.id, 'others'],
    queryFn: ({ signal }) => hasOthers(account.id, signal),
    enabled: mayInvite,
  });
  if (keys.data === undefined || calls.data === undefined || (mayInvite && members.data === undefined)) return undefined;

  return {
    newest: keys.data.data.find(({ state }) => state !== 'revoked'),
    done: {
      key: keys.data.data.length > 0,
      call: calls.data.data.length > 0,
      limit: keys.data.data.some(({ limit_usd: limit }) => limit !== null),
      ...(mayInvite ? { invite: members.data === true } : {}),
    },
  };
}

/** Whether the account has other members or open invitations. */
async function hasOthers(accountId: string, signal: AbortSignal): Promise<boolean> {
  const [members, invitations] = await Promise.all([
    api.get<{ data: readonly unknown[] }>(`/accounts/${accountId}/members`, { signal }),
    api.get<{ data: readonly unknown[] }>(`/accounts/${accountId}/invitations`, { signal }),
  ]);
  return members.data.length > 1 || invitations.data.length > 0;
}
