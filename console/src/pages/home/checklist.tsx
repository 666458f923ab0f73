// The checklist of a new account; each step is detected when it is done. It disappears when all are done, or when it is hidden.
import { useQuery } from '@tanstack/react-query';
import { CircleCheck, CircleDashed, X } from 'lucide-react';
import { type ReactNode, useState, useSyncExternalStore } from 'react';
import { Link } from 'wouter';
import { api } from '../../api/client.js';
import { listKeys } from '../../api/keys.js';
import { listRecords } from '../../api/usage.js';
import { clientBaseUrl } from '../../base.js';
import { nanoUsdOf } from '../../format/money.js';
import { storedChoice } from '../../format/stored-choice.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { type AccountInUse, useAccount } from '../../session/account.js';
import { liveMs } from '../../session/queries.js';
import { useBalance } from '../../shell/balance-pill.js';
import { ButtonLink, IconButton } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Card, Section } from '../../ui/layout.js';
import { Notice } from '../../ui/notice.js';
import { keyVariable, samplesFor } from '../keys/samples.js';

interface Step {
  readonly id: string;
  readonly title: string;
  readonly isDone: boolean;
  /** How to do it. */
  readonly content: ReactNode;
}

export function Checklist() {
  const account = useAccount();
  const [choice] = useState(() => storedChoice(`tollgate.checklist.${account.id}`, ['shown', 'hidden'], () => 'shown'));
  const isShown = useSyncExternalStore(choice.subscribe, choice.get) === 'shown';
  return isShown ? <Steps onHide={() => choice.set('hidden')} /> : null;
}

function Steps({ onHide }: { onHide: () => void }) {
  const account = useAccount();
  const t = useText(homeText);
  const steps = useSteps(account);
  if (steps === undefined) return null;
  const done = steps.filter(({ isDone }) => isDone).length;
  if (done === steps.length) return null;
  return (
    <Section
      title={t.checklist}
      description={<span role="status">{t.checklistDone({ done, all: steps.length })}</span>}
      actions={
        <IconButton label={t.hide} onClick={onHide}>
          <X size={18} aria-hidden />
        </IconButton>
      }
    >
      <Card flush>
        <ol className="divide-y divide-line">
          {steps.map(({ id, title, isDone, content }) => (
            <li key={id} className="flex gap-3 p-4">
              {isDone ? (
                <CircleCheck size={20} aria-hidden className="mt-0.5 shrink-0 text-good" />
              ) : (
                <CircleDashed size={20} aria-hidden className="mt-0.5 shrink-0 text-soft" />
              )}
              <div className="min-w-0 flex-1">
                <p className={isDone ? 'text-soft' : 'font-medium'}>
                  {title} <span className="sr-only">({isDone ? t.isDone : t.isOpen})</span>
                </p>
                {!isDone && <div className="mt-1 flex flex-col items-start gap-3">{content}</div>}
              </div>
            </li>
          ))}
        </ol>
      </Card>
    </Section>
  );
}

/** Undefined until it is known how far the account is, so that nothing flashes. */
function useSteps(account: AccountInUse): Step[] | undefined {
  const t = useText(homeText);
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
  const balance = useBalance(account.id);
  const members = useQuery({
    queryKey: ['members', account.id, 'others'],
    queryFn: ({ signal }) => hasOthers(account.id, signal),
    enabled: mayInvite,
  });
  if (keys.data === undefined || calls.data === undefined || (mayInvite && members.data === undefined)) return undefined;

  const [newest] = keys.data.data.filter(({ state }) => state !== 'revoked');
  const [sample] = samplesFor({ baseAddress: clientBaseUrl, secret: 'sk-tg-…', model: newest?.models?.[0] ?? 'sandbox/echo' });
  const steps: Step[] = [
    {
      id: 'key',
      title: t.keyStep,
      isDone: keys.data.data.length > 0,
      content: (
        <>
          <p className="text-soft">{t.keyStepHint}</p>
          <ButtonLink look="primary" to={account.path('/keys?create=first')}>
            {t.keyStepDo}
          </ButtonLink>
        </>
      ),
    },
    {
      id: 'call',
      title: t.callStep,
      isDone: calls.data.data.length > 0,
      content: (
        <>
          {balance.data !== undefined && nanoUsdOf(balance.data.available_usd) <= 0n && (
            <Notice
              tone="warn"
              action={
                <Link to={account.path('/billing')} className="link">
                  {t.noMoneyDo}
                </Link>
              }
            >
              {t.noMoney}
            </Notice>
          )}
          <p className="text-soft">{t.callStepHint}</p>
          <Code label={t.callStepCode} code={sample!.blocks[0]!.code} />
        </>
      ),
    },
    {
      id: 'limit',
      title: t.limitStep,
      isDone: keys.data.data.some(({ limit_usd: limit }) => limit !== null),
      content: (
        <>
          <p className="text-soft">{t.limitStepHint}</p>
          <Code label={t.limitStepCode} code={`curl ${clientBaseUrl}/v1/key -H "Authorization: Bearer $${keyVariable}"`} />
          {newest !== undefined && <ButtonLink to={account.path(`/keys/${newest.id}?edit`)}>{t.limitStepDo}</ButtonLink>}
        </>
      ),
    },
  ];
  if (!mayInvite) return steps;
  const invite: Step = {
    id: 'invite',
    title: t.inviteStep,
    isDone: members.data === true,
    content: (
      <>
        <p className="text-soft">{t.inviteStepHint}</p>
        <ButtonLink to={account.path('/members')}>{t.inviteStepDo}</ButtonLink>
      </>
    ),
  };
  return [...steps, invite];
}

function Code({ code, label }: { code: string; label: string }) {
  return (
    <div className="w-full max-w-3xl">
      <CodeBlock code={code} label={label} />
    </div>
  );
}

/** Whether the account has other members or open invitations. */
async function hasOthers(accountId: string, signal: AbortSignal): Promise<boolean> {
  const [members, invitations] = await Promise.all([
    api.get<{ data: readonly unknown[] }>(`/accounts/${accountId}/members`, { signal }),
    api.get<{ data: readonly unknown[] }>(`/accounts/${accountId}/invitations`, { signal }),
  ]);
  return members.data.length > 1 || invitations.data.length > 0;
}
