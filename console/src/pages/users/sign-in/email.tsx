// Changes the user's email address with the link that was emailed to the new one. Only the user who requested it can use it, so they must be signed in.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../../../api/client.js';
import { confirmEmail } from '../../../api/users.js';
import { emailText } from '../../../i18n/email.js';
import { useText } from '../../../i18n/text.js';
import { useMeQuery } from '../../../session/account.js';
import { meKey, queryClient } from '../../../session/queries.js';
import { Button, ButtonLink } from '../../../ui/button.js';
import { Empty, PageHeader } from '../../../ui/layout.js';
import { FormError, Notice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { toast } from '../../../ui/toasts/toast.js';

export default function ConfirmEmail() {
  const t = useText(emailText);
  const [token] = useState(() => location.hash.slice(1));
  const me = useMeQuery();
  return (
    <>
      <PageHeader title={t.title} />
      {token === '' ? (
        <Empty title={t.missing} action={<ButtonLink to="/settings">{t.settings}</ButtonLink>}>
          {t.missingHint}
        </Empty>
      ) : (
        <Fetched query={me}>
          {(known) =>
            known === null ? (
              <Empty title={t.signInFirst} action={<ButtonLink to="/sign-in">{t.signIn}</ButtonLink>}>
                {t.signInFirstHint}
              </Empty>
            ) : (
              <Confirm token={token} email={known.user.email} />
            )
          }
        </Fetched>
      )}
    </>
  );
}

function Confirm({ token, email }: { token: string; email: string }) {
  const t = useText(emailText);
  const [, go] = useLocation();
  const confirm = useMutation({
    mutationFn: confirmEmail,
    async onSuccess(user) {
      await queryClient.invalidateQueries({ queryKey: meKey });
      toast(t.done({ email: user.email }));
      // Replaces this page in the history, so that Back does not lead to a used link.
      go('/settings', { replace: true });
    },
  });
  const isTaken = confirm.error instanceof ApiError && confirm.error.code === 'already_exists';
  return (
    <>
      <p className="mb-4">{t.about({ email })}</p>
      {isTaken ? (
        <Notice tone="bad" live>
          {t.taken}
        </Notice>
      ) : (
        <FormError error={confirm.error} />
      )}
      <Button look="primary" className="w-full" busy={confirm.isPending} onClick={() => confirm.mutate(token)}>
        {t.confirm}
      </Button>
      <p className="mt-6">
        <ButtonLink to="/settings">{t.settings}</ButtonLink>
      </p>
    </>
  );
}
