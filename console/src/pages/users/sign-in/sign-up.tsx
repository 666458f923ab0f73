// Sign-up with a new account, if the gateway allows it.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { ApiError } from '../../../api/client.js';
import { finishSignUp, signUp } from '../../../api/users.js';
import { signInText } from '../../../i18n/sign-in.js';
import { useText } from '../../../i18n/text.js';
import { Button, ButtonLink } from '../../../ui/button.js';
import { EmailField, PasswordField, TextField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { Empty, PageHeader } from '../../../ui/layout.js';
import { fieldError, Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { enterConsole } from './enter-console.js';
import { SignInFault } from './fault.js';
import { useSignInOptions } from './sign-in-options.js';

export default function SignUp() {
  const t = useText(signInText);
  const options = useSignInOptions();
  const [token] = useState(() => location.hash.slice(1));
  if (token !== '') return <Finish token={token} />;
  return (
    <>
      <PageHeader title={t.signUpTitle} />
      <Fetched query={options}>
        {({ sign_up: isOpen }) =>
          isOpen ? (
            <SignUpForm />
          ) : (
            <Empty title={t.signUpClosed} action={<ButtonLink to="/sign-in">{t.signIn}</ButtonLink>}>
              {t.signUpClosedHint}
            </Empty>
          )
        }
      </Fetched>
    </>
  );
}

/** The page that the emailed link opens. The password shows that the user who opens it is the one who signed up. */
function Finish({ token }: { token: string }) {
  const t = useText(signInText);
  const [, go] = useLocation();
  const [password, setPassword] = useState('');
  const finish = useMutation({
    mutationFn: finishSignUp,
    async onSuccess() {
      await enterConsole();
      go('/', { replace: true });
    },
  });
  return (
    <>
      <PageHeader title={t.signUpFinish} description={t.signUpFinishHint} />
      <SignInFault error={finish.error} refused={t.signUpRefused} />
      <Form onSubmit={() => finish.mutate({ token, password })}>
        <PasswordField
          label={t.password}
          autoComplete="current-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
        />
        <Button type="submit" look="primary" busy={finish.isPending}>
          {t.signUp}
        </Button>
      </Form>
      {/* Loads the page: within the console it would keep the token. */}
      <p className="mt-6">
        <a href="sign-up" className="link">
          {t.signUpAgain}
        </a>
      </p>
    </>
  );
}

function SignUpForm() {
  const t = useText(signInText);
  const [, go] = useLocation();
  const [fields, setFields] = useState({ name: '', email: '', account_name: '', password: '' });
  const come = useMutation({
    mutationFn: signUp,
    async onSuccess({ account_id: accountId }) {
      if (accountId === null) return;
      await enterConsole();
      go('/', { replace: true });
    },
  });
  const set = (name: keyof typeof fields) => (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value });
  const isTaken = come.error instanceof ApiError && come.error.code === 'already_exists';
  if (come.data?.account_id === null) {
    return (
      <Notice tone="good" live title={t.signUpMailed}>
        {t.signUpMailedHint({ email: fields.email.trim() })}
      </Notice>
    );
  }
  return (
    <>
      <SignInFault error={come.error} fields={['name', 'email', 'account_name', 'password']} />
      <Form onSubmit={() => come.mutate(fields)}>
        <TextField
          label={t.name}
          name="name"
          autoComplete="name"
          required
          maxLength={200}
          value={fields.name}
          onChange={set('name')}
          error={fieldError(come.error, 'name')}
        />
        <EmailField
          label={t.email}
          autoComplete="username"
          value={fields.email}
          onChange={set('email')}
          error={isTaken ? t.emailTaken : fieldError(come.error, 'email')}
        />
        <TextField
          label={t.accountName}
          hint={t.accountNameHint}
          name="organization"
          autoComplete="organization"
          required
          maxLength={200}
          value={fields.account_name}
          onChange={set('account_name')}
          error={fieldError(come.error, 'account_name')}
        />
        <PasswordField
          label={t.password}
          hint={t.passwordHint}
          autoComplete="new-password"
          minLength={10}
          value={fields.password}
          onChange={set('password')}
          error={fieldError(come.error, 'password')}
        />
        <Button type="submit" look="primary" busy={come.isPending}>
          {t.signUp}
        </Button>
      </Form>
      <p className="mt-6">
        {t.known}{' '}
        <Link to="/sign-in" className="link">
          {t.signIn}
        </Link>
      </p>
    </>
  );
}
