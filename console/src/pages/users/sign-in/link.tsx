// A link that signs a user in once. A button redeems it, so that link previews in messages do not.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import type { SecondFactorChallenge } from '../../../api/second-factor.js';
import { signInByLink } from '../../../api/users.js';
import { signInText } from '../../../i18n/sign-in.js';
import { useText } from '../../../i18n/text.js';
import { useMeQuery } from '../../../session/account.js';
import { Button, ButtonLink } from '../../../ui/button.js';
import { Empty, PageHeader } from '../../../ui/layout.js';
import { Notice } from '../../../ui/notice.js';
import { enterConsole, tokenOfAddress } from './enter-console.js';
import { SignInFault } from './fault.js';
import { SecondStep } from '../../security/second-step.js';

export default function LinkPage() {
  const t = useText(signInText);
  const [token] = useState(tokenOfAddress);
  const me = useMeQuery();
  const [, go] = useLocation();
  const [challenge, setChallenge] = useState<SecondFactorChallenge>();
  const finish = async (): Promise<void> => {
    await enterConsole();
    // Replaces this page in the history, so that Back does not lead to a used link.
    go('/?welcome', { replace: true });
  };
  const enter = useMutation({
    mutationFn: signInByLink,
    onSuccess: (answer) => (answer === undefined ? finish() : setChallenge(answer.second_factor)),
  });
  if (challenge !== undefined) return <SecondStep challenge={challenge} onDone={finish} onBack={() => go('/sign-in', { replace: true })} />;
  if (token === undefined) {
    return (
      <>
        <PageHeader title={t.linkTitle} />
        <Empty title={t.linkMissing} action={<ButtonLink to="/sign-in">{t.signIn}</ButtonLink>}>
          {t.linkMissingHint}
        </Empty>
      </>
    );
  }
  return (
    <>
      <PageHeader title={t.linkTitle} description={t.linkHint} />
      {me.data !== undefined && me.data !== null && enter.isIdle && (
        <Notice tone="warn">{t.linkOther({ email: me.data.user.email })}</Notice>
      )}
      <SignInFault error={enter.error} refused={t.linkEnded} />
      <Button look="primary" className="w-full" busy={enter.isPending} onClick={() => enter.mutate(token)}>
        {t.signIn}
      </Button>
    </>
  );
}
