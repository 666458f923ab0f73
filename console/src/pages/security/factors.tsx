// The user's second factors and recovery codes.
import { useMutation, useQuery } from '@tanstack/react-query';
import { KeyRound, Smartphone } from 'lucide-react';
import { useState } from 'react';
import {
  beginSecondFactor,
  createRecoveryCodes,
  listSecondFactors,
  removeSecondFactor,
  type SecondFactor,
  type SecondFactorBegun,
  type SecondFactors,
} from '../../api/second-factor.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { meKey, queryClient } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog } from '../../ui/dialog.js';
import { Card, Section } from '../../ui/layout.js';
import { FormError, Notice } from '../../ui/notice.js';
import { Fetched } from '../../ui/query.js';
import { toast } from '../../ui/toasts/toast.js';
import { When } from '../../ui/values.js';
import { useSignInOptions } from '../users/sign-in/sign-in-options.js';
import { AddFactorDialog } from './add-factor.js';
import { RenameFactorDialog } from './rename-factor.js';
import { canUsePasskeys } from './passkey.js';
import { needsReauthentication, Reauthenticate } from './reauthenticate.js';
import { RecoveryCodesDialog } from './recovery-codes.js';

const factorsKey = ['me', 'second-factors'] as const;

export function FactorsSection() {
  const t = useText(secondFactorText);
  const query = useQuery({ queryKey: factorsKey, queryFn: ({ signal }) => listSecondFactors(signal) });
  return (
    <Section title={t.title} description={t.description}>
      <Card>
        <Fetched query={query}>{(factors) => <Factors factors={factors} />}</Fetched>
      </Card>
    </Section>
  );
}

/** The action that the user has chosen. It may require the user to authenticate again first. */
type PendingAction = { readonly add: SecondFactor['kind'] } | { readonly remove: SecondFactor } | { readonly codes: true };

function Factors({ factors: { data, recovery_codes_left: left } }: { factors: SecondFactors }) {
  const t = useText(secondFactorText);
  const { user } = useMe();
  const [begun, setBegun] = useState<SecondFactorBegun>();
  const [codes, setCodes] = useState<readonly string[]>();
  const [pending, setPending] = useState<PendingAction>();
  const [renaming, setRenaming] = useState<SecondFactor>();
  const [unproven, setUnproven] = useState<PendingAction>();
  // The user is refreshed too, because whether a required factor is missing decides which pages are shown. This must not close a dialog with codes.
  const refresh = async (): Promise<void> => {
    await queryClient.invalidateQueries({ queryKey: factorsKey });
    await queryClient.invalidateQueries({ queryKey: meKey });
  };
  const act = useMutation({
    async mutationFn(action: PendingAction) {
      if ('add' in action) return setBegun(await beginSecondFactor(action.add));
      if ('codes' in action) return setCodes((await createRecoveryCodes()).recovery_codes);
      await removeSecondFactor(action.remove.id);
      toast(t.removed);
      return refresh();
    },
    onError(error, action) {
      if (needsReauthentication(error)) setUnproven(action);
    },
    onSettled: () => setPending(undefined),
  });
  const hasApp = data.some(({ kind }) => kind === 'totp');
  return (
    <>
      {act.error !== null && !needsReauthentication(act.error) && <FormError error={act.error} />}
      {data.length === 0 ? (
        <p className="text-soft">{t.none}</p>
      ) : (
        <ul className="flex flex-col gap-3">
          {data.map((factor) => (
            <Factor key={factor.id} factor={factor} onRename={() => setRenaming(factor)} onRemove={() => setPending({ remove: factor })} />
          ))}
        </ul>
      )}
      <div className="mt-4 flex flex-wrap gap-2">
        {!hasApp && <Button onClick={() => act.mutate({ add: 'totp' })}>{t.setUpApp}</Button>}
        <AddPasskey onAdd={() => act.mutate({ add: 'passkey' })} />
      </div>
      {data.length > 0 && (
        <div className="mt-4 flex flex-wrap items-center justify-between gap-2 border-t border-line pt-4">
          <p className={left < 3 ? 'font-medium' : 'text-soft'}>{t.codesLeft({ count: left })}</p>
          <Button size="small" onClick={() => setPending({ codes: true })}>
            {t.newCodes}
          </Button>
        </div>
      )}
      {begun !== undefined && (
        <AddFactorDialog
          begun={begun}
          onClose={() => setBegun(undefined)}
          onAdded={(created) => {
            setBegun(undefined);
            toast(t.added);
            if (created === null) void refresh();
            else setCodes(created);
          }}
        />
      )}
      {renaming !== undefined && <RenameFactorDialog factor={renaming} onClose={() => setRenaming(undefined)} onRenamed={refresh} />}
      {codes !== undefined && (
        <RecoveryCodesDialog
          codes={codes}
          onClose={() => {
            setCodes(undefined);
            void refresh();
          }}
        />
      )}
      {pending !== undefined && (
        <ConfirmDialog
          open
          onClose={() => setPending(undefined)}
          onConfirm={() => act.mutate(pending)}
          busy={act.isPending}
          danger={'remove' in pending}
          title={'remove' in pending ? t.removeTitle({ name: pending.remove.name }) : t.newCodes}
          description={'remove' in pending ? (data.length === 1 ? t.removeLastHint : t.removeHint) : t.newCodesHint}
          confirm={'remove' in pending ? t.remove : t.newCodes}
        />
      )}
      {unproven !== undefined && (
        <Reauthenticate
          key={String(user.has_second_factor)}
          onClose={() => setUnproven(undefined)}
          onDone={() => {
            setUnproven(undefined);
            act.mutate(unproven);
          }}
        />
      )}
    </>
  );
}

function Factor({
  factor: { kind, name, created_at, last_used_at },
  onRename,
  onRemove,
}: {
  factor: SecondFactor;
  onRename: () => void;
  onRemove: () => void;
}) {
  const t = useText(secondFactorText);
  const Icon = kind === 'totp' ? Smartphone : KeyRound;
  return (
    <li className="flex flex-wrap items-center justify-between gap-2">
      <div className="flex min-w-0 items-start gap-3">
        <Icon size={18} aria-hidden className="mt-1 shrink-0" />
        <div className="min-w-0">
          <p className="font-medium wrap-anywhere">{name}</p>
          <p className="text-sm text-soft">
            {kind === 'totp' ? t.app : t.passkey} · {t.addedAt} <When at={created_at} style="day" /> ·{' '}
            {last_used_at === null ? (
              t.neverUsed
            ) : (
              <>
                {t.usedAt} <When at={last_used_at} style="relative" />
              </>
            )}
          </p>
        </div>
      </div>
      <div className="flex gap-2">
        <Button size="small" onClick={onRename} aria-label={t.renameOf({ name })}>
          {t.rename}
        </Button>
        <Button size="small" onClick={onRemove} aria-label={t.removeOf({ name })}>
          {t.remove}
        </Button>
      </div>
    </li>
  );
}

/** The button, or why there is none. */
function AddPasskey({ onAdd }: { onAdd: () => void }) {
  const t = useText(secondFactorText);
  const options = useSignInOptions().data;
  if (options === undefined) return null;
  const { passkey_origin: origin } = options;
  if (canUsePasskeys(origin)) return <Button onClick={onAdd}>{t.addPasskey}</Button>;
  return (
    <Notice>
      {origin === null ? t.passkeysNeedAddress : origin === location.origin ? t.passkeysNeedBrowser : t.passkeysElsewhere({ origin })}
    </Notice>
  );
}
