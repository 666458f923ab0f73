// The steps of the checklist: those that are done, and how to do the others.
import { CircleCheck, CircleDashed, X } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { ApiKey } from '../../api/keys.js';
import { clientBaseUrl } from '../../base.js';
import { nanoUsdOf } from '../../format/money.js';
import { homeText } from '../../i18n/home.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { useBalance } from '../../shell/balance-pill.js';
import { ButtonLink, IconButton } from '../../ui/button.js';
import { CodeBlock } from '../../ui/code-block.js';
import { Card, Section } from '../../ui/layout.js';
import { Notice } from '../../ui/notice.js';
import { keyVariable, samplesFor } from '../keys/secret/samples.js';

/** The progress of an account. */
export interface Progress {
  /** The newest key that is not revoked. */
  readonly newest: ApiKey | undefined;
  /** Which steps are done; `invite` is absent if the user may not invite. */
  readonly done: { readonly key: boolean; readonly call: boolean; readonly limit: boolean; readonly invite?: boolean };
}

interface Step {
  readonly id: string;
  readonly title: string;
  readonly isDone: boolean;
  /** How to do it. */
  readonly content: ReactNode;
}

export default function ChecklistSteps({ progress, onHide }: { progress: Progress; onHide: () => void }) {
  const t = useText(homeText);
  const steps = useSteps(progress);
  const done = steps.filter(({ isDone }) => isDone).length;
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

function useSteps({ newest, done }: Progress): Step[] {
  const t = useText(homeText);
  const account = useAccount();
  const balance = useBalance(account.id);
  const [sample] = samplesFor({ baseAddress: clientBaseUrl, secret: 'sk-tg-…', model: newest?.models?.[0] ?? 'sandbox/echo' });
  const steps: Step[] = [
    {
      id: 'key',
      title: t.keyStep,
      isDone: done.key,
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
      isDone: done.call,
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
      isDone: done.limit,
      content: (
        <>
          <p className="text-soft">{t.limitStepHint}</p>
          <Code label={t.limitStepCode} code={`curl ${clientBaseUrl}/v1/key -H "Authorization: Bearer $${keyVariable}"`} />
          {newest !== undefined && <ButtonLink to={account.path(`/keys/${newest.id}?edit`)}>{t.limitStepDo}</ButtonLink>}
        </>
      ),
    },
  ];
  if (done.invite === undefined) return steps;
  const invite: Step = {
    id: 'invite',
    title: t.inviteStep,
    isDone: done.invite,
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
