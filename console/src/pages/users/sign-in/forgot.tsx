// A forgotten password: requests a link by mail. The response does not reveal whether the address is known.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { requestPasswordReset } from '../../../api/users.js';
import { resetText } from '../../../i18n/reset.js';
import { signInText } from '../../../i18n/sign-in.js';
import { useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { EmailField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { PageHeader } from '../../../ui/layout.js';
import { fieldError, Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { SignInFault } from './fault.js';
import { useSignInOptions } from './sign-in-options.js';

export default function Forgot() {
  const t = useText(resetText);
  const { forgot } = useText(signInText);
  const options = useSignInOptions();
  const [email, setEmail] = useState('');
  const ask = useMutation({ mutationFn: requestPasswordReset });
  return (
    <>
      <PageHeader title={t.forgotTitle} description={options.data?.password_reset === true ? t.forgotHint : undefined} />
      <Fetched query={options}>
        {({ password_reset: hasMail }) =>
          !hasMail ? (
            <Notice>{forgot}</Notice>
          ) : ask.isSuccess ? (
            <Notice tone="good" live title={t.sent}>
              {t.sentHint({ email: ask.variables.trim() })}
            </Notice>
          ) : (
            <>
              <SignInFault error={ask.error} fields={['email']} />
              <Form onSubmit={() => ask.mutate(email)}>
                <EmailField
                  label={t.email}
                  autoComplete="username"
                  value={email}
                  onChange={(event) => setEmail(event.target.value)}
                  error={fieldError(ask.error, 'email')}
                />
                <Button type="submit" look="primary" busy={ask.isPending}>
                  {t.send}
                </Button>
              </Form>
            </>
          )
        }
      </Fetched>
      <p className="mt-6">
        <Link to="/sign-in" className="link">
          {t.back}
        </Link>
      </p>
    </>
  );
}
