// Asks the user to authenticate again before they change how they sign in.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../api/client.js';
import { beginReauthentication, beginReauthenticationByProvider, reauthenticate } from '../../api/second-factor.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { signInText } from '../../i18n/sign-in.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { PasswordField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Fetched } from '../../ui/query.js';
import { SignInFault } from '../users/sign-in/fault.js';
import { useSignInOptions } from '../users/sign-in/sign-in-options.js';
import { useIdentities } from './identities.js';
import { isFactorRefused, ProofForm } from './proof-form.js';

/** Whether the API requires it. */
export const needsReauthentication = (error: unknown): boolean => error instanceof ApiError && error.rule === 'reauthenticate';

/** `onDone` is called once the user has authenticated. */
export function Reauthenticate({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [t, signIn] = [useText(secondFactorText), useText(signInText)];
  const { user } = useMe();
  const oidc = useSignInOptions().data?.oidc;
  const identities = useIdentities({ enabled: !user.has_password && oidc != null });
  // If the identities cannot be read, the provider's response shows whether one is connected.
  const isConnected = identities.data?.data.some(({ provider }) => provider === oidc?.name) ?? identities.isError;
  const [path] = useLocation();
  const [password, setPassword] = useState('');
  const prove = useMutation({ mutationFn: reauthenticate, onSuccess: onDone, onError: () => setPassword('') });
  const toProvider = useMutation({
    mutationFn: beginReauthenticationByProvider,
    onSuccess: ({ location: provider }) => location.assign(provider),
  });
  const challenge = useQuery({
    queryKey: ['reauthentication'],
    queryFn: beginReauthentication,
    enabled: user.has_second_factor,
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Dialog onClose={onClose} title={t.confirmTitle} description={t.confirmHint}>
      {!isFactorRefused(prove.error) && <SignInFault error={prove.error} refused={t.confirmRefused} />}
      {user.has_second_factor && (
        <Fetched query={challenge}>
          {(data) => (
            <ProofForm
              challenge={data}
              error={prove.error}
              busy={prove.isPending}
              submit={t.confirm}
              onProof={(proof) => prove.mutate({ token: data.token, ...proof })}
            />
          )}
        </Fetched>
      )}
      {user.has_second_factor && user.has_password && <p className="my-4 text-center text-sm text-soft">{t.or}</p>}
      {user.has_password && (
        <Form onSubmit={() => prove.mutate({ password })}>
          {/* For the browser's password manager, which would otherwise not know the user name. */}
          <input type="email" name="username" autoComplete="username" value={user.email} readOnly hidden />
          <PasswordField
            label={t.password}
            autoComplete="current-password"
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
          <Button type="submit" look={user.has_second_factor ? 'secondary' : 'primary'} busy={prove.isPending}>
            {t.confirm}
          </Button>
        </Form>
      )}
      {!user.has_password && oidc != null && isConnected && (
        <>
          {user.has_second_factor && <p className="my-4 text-center text-sm text-soft">{t.or}</p>}
          <SignInFault error={toProvider.error} />
          <Button
            look={user.has_second_factor ? 'secondary' : 'primary'}
            busy={toProvider.isPending || toProvider.isSuccess}
            onClick={() => toProvider.mutate(path)}
          >
            {signIn.by({ name: oidc.name })}
          </Button>
          {/* A provider may reject the request on a page of its own, from which the browser does not return. */}
          <p className="mt-4 text-sm text-soft">{t.confirmOtherwise}</p>
        </>
      )}
      {!user.has_password && !user.has_second_factor && !isConnected && !identities.isLoading && <p>{t.confirmBySignIn}</p>}
    </Dialog>
  );
}
