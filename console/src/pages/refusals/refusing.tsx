// Shows that calls with a key are being refused, since when and why, with the action that fixes it.
import { Link } from 'wouter';
import type { ApiKey } from '../../api/keys.js';
import { nanoUsdOf } from '../../format/money.js';
import { useTime } from '../../format/time.js';
import { refusingText } from '../../i18n/refusing.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { ButtonLink } from '../../ui/button.js';
import { Notice } from '../../ui/notice.js';
import { useReasonName } from './reasons.js';

/** Shows in one sentence that a key is refusing calls. */
function useSentence(): (refusing: NonNullable<ApiKey['refusing']>) => string {
  const t = useText(refusingText);
  const time = useTime();
  const reasonName = useReasonName();
  return ({ reason, since }) => t.since({ when: time.short(since), why: reasonName(reason) });
}

/** Returns the page on which the user can fix why calls of a key are refused, and the action there; undefined if the user cannot fix it. */
export function useMend(): (apiKey: ApiKey, reason?: string) => { readonly name: string; readonly to: string } | undefined {
  const t = useText(refusingText);
  const account = useAccount();
  return (apiKey, reason = apiKey.refusing?.reason) => {
    const edit = account.path(`/keys/${apiKey.id}?edit`);
    const mayChange = account.can('change keys', apiKey.project_id);
    const byKey = (name: string) => (mayChange ? { name, to: edit } : undefined);
    switch (reason) {
      case 'balance_empty':
      case 'balance_held':
        return account.can('look') ? { name: t.addFunds, to: account.path('/billing') } : undefined;
      case 'key_limit_reached':
        return byKey(t.raiseLimit);
      case 'budget_reached':
        return apiKey.budgets.some(({ limit_usd, spent_usd }) => spent_usd !== null && nanoUsdOf(spent_usd) >= nanoUsdOf(limit_usd))
          ? byKey(t.changeBudget)
          : { name: t.seeBudgets, to: account.path(`/projects/${apiKey.project_id}`) };
      case 'key_expired':
        return byKey(t.changeExpiry);
      case 'model_not_permitted':
        return byKey(t.allowModel);
      case 'address_not_permitted':
        return byKey(t.allowAddress);
      case 'rate_limited':
        return byKey(t.changeRateLimits);
      case 'key_revoked':
        return mayChange ? { name: t.createKey, to: account.path('/keys?create') } : undefined;
      default:
        return undefined;
    }
  };
}

/** In a list of keys. */
export function RefusingInList({ apiKey }: { apiKey: ApiKey }) {
  const account = useAccount();
  const sentence = useSentence();
  const mend = useMend()(apiKey);
  if (apiKey.refusing === null) return null;
  return (
    <span className="block max-w-72 text-[0.8125rem] leading-snug whitespace-normal">
      <Link
        to={account.path(`/usage/refusals?key=${apiKey.id}&reason=${apiKey.refusing.reason}`)}
        className="text-bad underline underline-offset-3"
      >
        {sentence(apiKey.refusing)}
      </Link>
      {mend !== undefined && (
        <Link to={mend.to} className="link ml-2 whitespace-nowrap">
          {mend.name}
        </Link>
      )}
    </span>
  );
}

/** On the page of a key. `enable`: the button that enables the key, if it is disabled and the user may. */
export function RefusingNotice({ apiKey, enable }: { apiKey: ApiKey; enable: React.ReactNode }) {
  const t = useText(refusingText);
  const account = useAccount();
  const time = useTime();
  const sentence = useSentence();
  const mend = useMend()(apiKey);
  const { refusing } = apiKey;
  if (refusing === null) return null;
  return (
    <Notice
      tone="bad"
      title={sentence(refusing)}
      action={
        <span className="flex flex-wrap gap-2">
          {refusing.reason === 'key_disabled' && enable}
          {mend !== undefined && (
            <ButtonLink look="primary" to={mend.to}>
              {mend.name}
            </ButtonLink>
          )}
          <ButtonLink to={account.path(`/usage/refusals?key=${apiKey.id}&reason=${refusing.reason}`)}>{t.seeRefused}</ButtonLink>
        </span>
      }
    >
      {t.last({ when: time.relative(refusing.last_at) })}
    </Notice>
  );
}
