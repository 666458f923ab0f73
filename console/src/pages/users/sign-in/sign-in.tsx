// Sign-in with a password or the identity provider: a page of its own, and in place of the page on which the session has ended.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, Redirect, useLocation } from 'wouter';
import { beginPasskeySignIn, finishSignIn, type SecondFactorChallenge } from '../../../api/second-factor.js';
import { oidcUrl, signIn } from '../../../api/users.js';
import { secondFactorText } from '../../../i18n/second-factor.js';
import { problemText, signInText } from '../../../i18n/sign-in.js';
import { useText } from '../../../i18n/text.js';
import { useMeQuery } from '../../../session/account.js';
import { queryClient } from '../../../session/queries.js';
import { Button, buttonClass } from '../../../ui/button.js';
import { EmailField, PasswordField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { PageHeader } from '../../../ui/layout.js';
import { fieldError, Notice } from '../../../ui/notice.js';
import { canUsePasskeys, isPasskeyError, usePasskey } from '../../security/passkey.js';
import { enterConsole, pageOf } from './enter-console.js';
import { SignInFault } from './fault.js';
import { isFactorRefused } from '../../security/proof-form.js';
import { SecondStep } from '../../security/second-step.js';
import { useSignInOptions } from './sign-in-options.js';

export default function SignIn() {
  const t = useText(signInText);
  const factorText = useText(secondFactorText);
  const [path, go] = useLocation();
  const isInPlace = path !== '/sign-in';
  // Not decoded here: wouter decodes once, and the address of the next page has encoded values too.
  const search = new URLSearchParams(isInPlace ? '' : location.search);
  const next = isInPlace ? path + location.search : pageOf(search.get('next'));
  const problem = search.get('problem');
  const me = useMeQuery();
  const options = useSignInOptions();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const [challenge, setChallenge] = useState<SecondFactorChallenge>();
  const finish = async (): Promise<void> => {
    // The page below shows itself again, with data that are fetched again.
    if (isInPlace) return queryClient.invalidateQueries();
    await enterConsole();
    go(next, { replace: true });
  };
  const enter = useMutation({
    mutationFn: signIn,
    onSuccess: (answer) => (answer === undefined ? finish() : setChallenge(answer.second_factor)),
    onError: () => setPassword(''),
  });
  const enterByPasskey = useMutation({
    async mutationFn() {
      const { second_factor: answer } = await beginPasskeySignIn();
      await finishSignIn({ token: answer.token, passkey: await usePasskey(answer.passkey!) });
    },
    onSuccess: finish,
  });
  const isBusy = enter.isPending || enterByPasskey.isPending;
  if (me.data !== undefined && me.data !== null && enter.isIdle && enterByPasskey.isIdle) return <Redirect to={next} replace />;
  if (challenge !== undefined) {
    const startAgain = (): void => {
      setPassword('');
      setChallenge(undefined);
    };
    return <SecondStep challenge={challenge} onDone={finish} onBack={startAgain} />;
  }
  const oidc = options.data?.oidc ?? null;
  return (
    <>
      <PageHeader title={t.signIn} />
      {problem !== null && enter.isIdle && (
        <Notice tone="bad" live title={t.problem}>
          {problemText(t, problem)}
        </Notice>
      )}
      <SignInFault error={enter.error} fields={['email']} />
      {isPasskeyError(enterByPasskey.error) ? (
        <Notice tone="bad" live>
          {factorText.passkeyDeclined}
        </Notice>
      ) : isFactorRefused(enterByPasskey.error) ? (
        <Notice tone="bad" live>
          {factorText.passkeyRefused}
        </Notice>
      ) : (
        <SignInFault error={enterByPasskey.error} refused={factorText.passkeyRefused} />
      )}
      {oidc !== null && (
        <div className="mb-5">
          <a href={oidcUrl(next)} className={`${buttonClass('secondary')} w-full`}>
            {t.by({ name: oidc.name })}
          </a>
          <p className="mt-4 text-center text-sm text-soft">{t.or}</p>
        </div>
      )}
      <Form onSubmit={() => enter.mutate({ email, password })}>
        <EmailField
          label={t.email}
          autoComplete="username"
          value={email}
          onChange={(event) => setEmail(event.target.value)}
          error={fieldError(enter.error, 'email')}
        />
        <PasswordField
          label={t.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={isBusy}>
          {t.signIn}
        </Button>
      </Form>
      {canUsePasskeys(options.data?.passkey_origin) && (
        <Button className="mt-4 w-full" busy={isBusy} onClick={() => enterByPasskey.mutate()}>
          {factorText.byPasskey}
        </Button>
      )}
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
