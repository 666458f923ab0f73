// An invitation to an account: a new user chooses a name and a password, an existing user signs in, and both can use the identity provider. The
// page does not know which of them opened it, because the link does not prove who owns the address.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../../api/client.js';
import type { SecondFactorChallenge } from '../../../api/second-factor.js';
import { acceptInvitation, beginInvitationSignIn, getInvitation, type OfferedInvitation } from '../../../api/users.js';
import { membersText } from '../../../i18n/members.js';
import { problemText, signInText } from '../../../i18n/sign-in.js';
import { useText } from '../../../i18n/text.js';
import { accountPath, useMeQuery } from '../../../session/account.js';
import { Button, ButtonLink } from '../../../ui/button.js';
import { PasswordField, TextField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { Empty, PageHeader } from '../../../ui/layout.js';
import { fieldError, Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { enterConsole, tokenOfAddress } from './enter-console.js';
import { SignInFault } from './fault.js';
import { SecondStep } from '../../security/second-step.js';
import { useSignInOptions } from './sign-in-options.js';

export default function InvitationPage() {
  const [token] = useState(tokenOfAddress);
  return token === undefined ? <Ended /> : <Offered token={token} />;
}

function Ended() {
  const t = useText(signInText);
  return (
    <>
      <PageHeader title={t.invitation} />
      <Empty title={t.invitationEnded} action={<ButtonLink to="/sign-in">{t.signIn}</ButtonLink>}>
        {t.invitationEndedHint}
      </Empty>
    </>
  );
}

function Offered({ token }: { token: string }) {
  const t = useText(signInText);
  const query = useQuery({
    queryKey: ['invitation', token],
    queryFn: ({ signal }) => getInvitation(token, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (query.error instanceof ApiError && query.error.code === 'not_found') return <Ended />;
  if (query.data === undefined) {
    return (
      <>
        <PageHeader title={t.invitation} />
        <Fetched query={query}>{() => null}</Fetched>
      </>
    );
  }
  return <Acceptance token={token} invitation={query.data} />;
}

function Acceptance({ token, invitation }: { token: string; invitation: OfferedInvitation }) {
  const t = useText(signInText);
  const roleText = useText(membersText);
  const present = useMeQuery().data?.user;
  const provider = useSignInOptions().data?.oidc ?? null;
  const [, go] = useLocation();
  const [challenge, setChallenge] = useState<SecondFactorChallenge>();
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const accept = useMutation({
    mutationFn: acceptInvitation,
    async onSuccess(answer) {
      if (answer !== undefined) return setChallenge(answer.second_factor);
      await enterConsole();
      return go(accountPath(invitation.account_id, '/'), { replace: true });
    },
    onError: () => setPassword(''),
  });
  const byProvider = useMutation({ mutationFn: beginInvitationSignIn, onSuccess: ({ location: page }) => location.assign(page) });
  const problem = new URLSearchParams(location.search).get('problem');
  const [isKnown, setIsKnown] = useState(false);
  // The invitation is accepted by the session that the second factor begins.
  if (challenge !== undefined) {
    const repeat = async (): Promise<void> => {
      setChallenge(undefined);
      await accept.mutateAsync({ token });
    };
    return <SecondStep challenge={challenge} onDone={repeat} onBack={() => setChallenge(undefined)} />;
  }
  const isSelf = present?.email === invitation.email;
  return (
    <>
      <PageHeader
        title={t.invitationTitle({ account: invitation.account_name })}
        description={t.invitedAs({ email: invitation.email, role: roleText[invitation.role] })}
      />
      {present !== undefined && !isSelf && <Notice tone="warn">{t.invitationOther({ email: present.email })}</Notice>}
      {problem !== null && accept.isIdle && byProvider.isIdle && (
        <Notice tone="bad" live title={t.invitationProblem}>
          {problemText(t, problem)}
        </Notice>
      )}
      <SignInFault error={byProvider.error} />
      <SignInFault error={accept.error} fields={['name', 'password']} />
      {!isSelf && provider !== null && (
        <div className="mb-5">
          <Button className="w-full" busy={byProvider.isPending || byProvider.isSuccess} onClick={() => byProvider.mutate(token)}>
            {t.invitationBy({ name: provider.name })}
          </Button>
          <p className="mt-2 text-sm text-soft">{t.invitationByHint({ email: invitation.email })}</p>
          <p className="mt-4 text-center text-sm text-soft">{t.or}</p>
        </div>
      )}
      <Form onSubmit={() => accept.mutate({ token, ...(isSelf || isKnown ? {} : { name }), ...(isSelf ? {} : { password }) })}>
        <p>{isSelf ? t.invitationSession({ email: invitation.email }) : isKnown ? t.invitationKnown : t.invitationNew}</p>
        {!isSelf && !isKnown && (
          <TextField
            label={t.name}
            name="name"
            autoComplete="name"
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={fieldError(accept.error, 'name')}
          />
        )}
        {!isSelf && (
          <>
            {/* For the browser's password manager, which would otherwise not know the user name. */}
            <input type="email" name="email" autoComplete="username" value={invitation.email} readOnly hidden />
            <PasswordField
              label={t.password}
              hint={isKnown ? undefined : t.passwordHint}
              autoComplete={isKnown ? 'current-password' : 'new-password'}
              minLength={isKnown ? undefined : 10}
              value={password}
              onChange={(event) => setPassword(event.target.value)}
              error={fieldError(accept.error, 'password')}
            />
          </>
        )}
        <Button type="submit" look="primary" busy={accept.isPending}>
          {t.accept}
        </Button>
      </Form>
      {!isSelf && (
        <p className="mt-6">
          <Button look="ghost" onClick={() => setIsKnown(!isKnown)}>
            {isKnown ? t.invitationIsNew : t.invitationIsKnown}
          </Button>
        </p>
      )}
    </>
  );
}
