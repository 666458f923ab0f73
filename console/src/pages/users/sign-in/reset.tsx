// Sets a new password with a mailed link. The token is in the fragment of the address, which browsers do not send to servers.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { SecondFactorChallenge } from '../../../api/second-factor.js';
import { listIdentities, resetPassword } from '../../../api/users.js';
import { resetText } from '../../../i18n/reset.js';
import { useText } from '../../../i18n/text.js';
import { Button, ButtonLink } from '../../../ui/button.js';
import { PasswordField } from '../../../ui/field.js';
import { Form } from '../../../ui/form.js';
import { Empty, PageHeader } from '../../../ui/layout.js';
import { fieldError } from '../../../ui/notice.js';
import { toast } from '../../../ui/toasts/toast.js';
import { enterConsole, tokenOfAddress } from './enter-console.js';
import { SignInFault } from './fault.js';
import { SecondStep } from '../../security/second-step.js';

export default function Reset() {
  const t = useText(resetText);
  const [token] = useState(tokenOfAddress);
  const [password, setPassword] = useState('');
  const [, go] = useLocation();
  const [challenge, setChallenge] = useState<SecondFactorChallenge>();
  const set = useMutation({
    mutationFn: (whole: string) => resetPassword({ token: whole, new_password: password }),
    async onSuccess(answer) {
      if (answer !== undefined) return setChallenge(answer.second_factor);
      await enterConsole();
      toast(t.done);
      // The password is set even if this fails.
      const { data: identities } = await listIdentities().catch(() => ({ data: [] }));
      // Replaces this page in the history, so that Back does not lead to a used link.
      return go(identities.length > 0 ? '/settings/security?reset=1' : '/', { replace: true });
    },
  });
  if (token === undefined) {
    return (
      <>
        <PageHeader title={t.resetTitle} />
        <Empty title={t.missing} action={<ButtonLink to="/forgot">{t.again}</ButtonLink>}>
          {t.missingHint}
        </Empty>
      </>
    );
  }
  // The password is set by the session that the second factor begins.
  if (challenge !== undefined) {
    const repeat = async (): Promise<void> => {
      setChallenge(undefined);
      await set.mutateAsync(token);
    };
    return <SecondStep challenge={challenge} onDone={repeat} onBack={() => setChallenge(undefined)} />;
  }
  return (
    <>
      <PageHeader title={t.resetTitle} description={t.resetHint} />
      <SignInFault error={set.error} refused={t.ended} fields={['new_password']} />
      <Form onSubmit={() => set.mutate(token)}>
        <PasswordField
          label={t.password}
          hint={t.passwordHint}
          autoComplete="new-password"
          value={password}
          onChange={(event) => setPassword(event.target.value)}
          error={fieldError(set.error, 'new_password')}
        />
        <Button type="submit" look="primary" busy={set.isPending}>
          {t.set}
        </Button>
      </Form>
      <p className="mt-6">
        <ButtonLink to="/forgot">{t.again}</ButtonLink>
      </p>
    </>
  );
}
