// Sign-in with a password or the identity provider.
import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Link, Redirect, useLocation } from 'wouter';
import { getSignInOptions, oidcUrl, signIn } from '../../api/users.js';
import { problemText, signInText } from '../../i18n/sign-in.js';
import { useText } from '../../i18n/text.js';
import { useMeQuery } from '../../session/account.js';
import { Button, buttonClass } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { PageHeader } from '../../ui/layout.js';
import { fieldError, Notice } from '../../ui/notice.js';
import { arrive, pageOf } from './arrive.js';
import { SignInFault } from './fault.js';

/** The sign-in methods; they do not change while the page is open. */
export const useSignInOptions = () =>
  useQuery({ queryKey: ['sign-in-options'], queryFn: ({ signal }) => getSignInOptions(signal), staleTime: Number.POSITIVE_INFINITY });

export default function SignIn() {
  const t = useText(signInText);
  // As it stands: wouter decodes once, and the page to go on to has values of its own.
  const search = new URLSearchParams(location.search);
  const next = pageOf(search.get('next'));
  const problem = search.get('problem');
  const me = useMeQuery();
  const options = useSignInOptions();
  const [, go] = useLocation();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const enter = useMutation({
    mutationFn: signIn,
    async onSuccess() {
      await arrive();
      go(next, { replace: true });
    },
    onError: () => setPassword(''),
  });
  if (me.data !== undefined && me.data !== null && enter.isIdle) return <Redirect to={next} replace />;
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    enter.mutate({ email, password });
  };
  const oidc = options.data?.oidc ?? null;
  return (
    <>
      <PageHeader title={t.title} />
      {problem !== null && enter.isIdle && (
        <Notice tone="bad" live title={t.problem}>
          {problemText(t, problem)}
        </Notice>
      )}
      <SignInFault error={enter.error} fields={['email']} />
      {oidc !== null && (
        <div className="mb-5">
          <a href={oidcUrl(next)} className={`${buttonClass('secondary')} w-full`}>
            {t.by({ name: oidc.name })}
          </a>
          <p className="mt-4 text-center text-sm text-soft">{t.or}</p>
        </div>
      )}
      <form onSubmit={submit} className="flex flex-col gap-4">
        <TextField
          label={t.email}
          type="email"
          name="email"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          required
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={fieldError(enter.error, 'email')}
        />
        <TextField
          label={t.password}
          type="password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={enter.isPending}>
          {t.signIn}
        </Button>
      </form>
      {options.data?.sign_up === true && (
        <p className="mt-6">
          {t.newHere}{' '}
          <Link to="/sign-up" className="link">
            {t.signUpLink}
          </Link>
        </p>
      )}
      {options.data?.password_reset === true ? (
        <p className="mt-6">
          <Link to="/forgot" className="link">
            {t.forgotLink}
          </Link>
        </p>
      ) : (
        <p className="mt-6 text-sm text-soft">{t.forgot}</p>
      )}
    </>
  );
}
