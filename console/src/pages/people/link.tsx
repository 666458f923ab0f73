// A link that signs somebody in once. A button redeems it, so that whatever looks at links in messages does not.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { signInByLink } from '../../api/people.js';
import { signInText } from '../../i18n/sign-in.js';
import { useText } from '../../i18n/text.js';
import { useMeQuery } from '../../session/account.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { Empty, PageHeader } from '../../ui/layout.js';
import { Notice } from '../../ui/notice.js';
import { arrive, tokenOfAddress } from './arrive.js';
import { SignInFault } from './fault.js';

export default function LinkPage() {
  const t = useText(signInText);
  const [token] = useState(tokenOfAddress);
  const me = useMeQuery();
  const [, go] = useLocation();
  const enter = useMutation({
    mutationFn: signInByLink,
    async onSuccess() {
      const arrived = await arrive();
      // In the place of this page, so that the way back does not lead to a link that has ended.
      go(arrived?.user.has_password === false ? '/settings?welcome=1' : '/', { replace: true });
    },
  });
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
        {t.linkUse}
      </Button>
    </>
  );
}
