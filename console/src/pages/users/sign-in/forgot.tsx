// A forgotten password: requests a link by mail. The response does not reveal whether the address is known.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'wouter';
import { requestPasswordReset } from '../../../api/users.js';
import { resetText } from '../../../i18n/reset.js';
import { useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { EmailField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { PageHeader } from '../../../ui/layout.js';
import { fieldError, Notice } from '../../../ui/notice.js';
import { SignInFault } from './fault.js';

export default function Forgot() {
  const t = useText(resetText);
  const [email, setEmail] = useState('');
  const ask = useMutation({ mutationFn: requestPasswordReset });
  return (
    <>
      <PageHeader title={t.forgotTitle} description={t.forgotHint} />
      {ask.isSuccess ? (
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
      )}
      <p className="mt-6">
        <Link to="/sign-in" className="link">
          {t.back}
        </Link>
      </p>
    </>
  );
}
