// The user's identities at identity providers.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { connectIdentity, disconnectIdentity, type Identity } from '../../api/users.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { queryClient } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { ConfirmDialog, FormDialog } from '../../ui/dialog.js';
import { Card, Section } from '../../ui/layout.js';
import { Fetched } from '../../ui/query.js';
import { toast } from '../../ui/toasts/toast.js';
import { When } from '../../ui/values.js';
import { CurrentPassword, ProfileError } from '../users/profile-errors.js';
import { useSignInOptions } from '../users/sign-in/sign-in-options.js';
import { identitiesKey, useIdentities } from './identities.js';

/** Renders nothing if there is no provider and no identity from an earlier one. */
export function ProviderSection() {
  const t = useText(settingsText);
  const provider = useSignInOptions().data?.oidc ?? null;
  const query = useIdentities();
  const [disconnecting, setDisconnecting] = useState<Identity>();
  const disconnect = useMutation({
    mutationFn: disconnectIdentity,
    async onSuccess() {
      setDisconnecting(undefined);
      toast(t.disconnected);
      await queryClient.invalidateQueries({ queryKey: identitiesKey });
    },
  });
  const submit = (): void => {
    if (disconnecting !== undefined) disconnect.mutate(disconnecting.id);
  };
  if (provider === null && (query.data?.data.length ?? 0) === 0) return null;
  return (
    <Section title={t.provider} description={t.providerHint}>
      <Card>
        <Fetched query={query}>
          {({ data }) => (
            <ul className="flex flex-col gap-3">
              {data.map((identity) => (
                <li key={identity.id} className="flex flex-wrap items-center justify-between gap-2">
                  <div className="min-w-0">
                    <p className="font-medium wrap-anywhere">{identity.provider}</p>
                    <p className="text-sm text-soft wrap-anywhere">
                      {identity.email} · <When at={identity.created_at} style="day" />
                    </p>
                  </div>
                  <Button size="small" onClick={() => setDisconnecting(identity)} aria-label={`${t.disconnect} ${identity.provider}`}>
                    {t.disconnect}
                  </Button>
                </li>
              ))}
            </ul>
          )}
        </Fetched>
        {provider !== null && !(query.data?.data.some((identity) => identity.provider === provider.name) ?? true) && (
          <Connect name={provider.name} />
        )}
      </Card>
      <ConfirmDialog
        open={disconnecting !== undefined}
        onClose={() => {
          disconnect.reset();
          setDisconnecting(undefined);
        }}
        onConfirm={submit}
        title={t.disconnectTitle({ provider: disconnecting?.provider ?? '' })}
        description={t.disconnectHint}
        confirm={t.disconnect}
        busy={disconnect.isPending}
      >
        <ProfileError error={disconnect.error} fields={[]} onRepeat={submit} />
      </ConfirmDialog>
    </Section>
  );
}

function Connect({ name }: { name: string }) {
  const t = useText(settingsText);
  const [isAsking, setAsking] = useState(false);
  return (
    <>
      <p className="mb-3 text-soft">{t.providerNone({ name })}</p>
      <Button onClick={() => setAsking(true)}>{t.connect({ name })}</Button>
      {isAsking && <ConnectDialog name={name} onClose={() => setAsking(false)} />}
    </>
  );
}

function ConnectDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const t = useText(settingsText);
  const { user } = useMe();
  const [password, setPassword] = useState('');
  const connect = useMutation({ mutationFn: connectIdentity, onSuccess: ({ location: provider }) => location.assign(provider) });
  const submit = (): void => {
    connect.mutate(user.has_password ? { current_password: password } : {});
  };
  return (
    <FormDialog
      onClose={onClose}
      title={t.connect({ name })}
      description={t.connectHint}
      submit={t.connect({ name })}
      busy={connect.isPending || connect.isSuccess}
      onSubmit={submit}
    >
      <ProfileError error={connect.error} fields={[]} onRepeat={submit} />
      {user.has_password && <CurrentPassword value={password} onChange={setPassword} error={connect.error} />}
    </FormDialog>
  );
}
