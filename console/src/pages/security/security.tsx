// How the user signs in: password, identity provider, second factors, and where they are signed in.
import { useSearch } from 'wouter';
import { problemText, signInText } from '../../i18n/sign-in.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { PageHeader } from '../../ui/layout.js';
import { Notice } from '../../ui/notice.js';
import { FactorsSection } from './factors.js';
import { PasswordSection } from './password.js';
import { ProviderSection } from './provider.js';
import { SessionsSection } from './sessions.js';

export default function SecurityPage() {
  const t = useText(settingsText);
  const factor = useText(secondFactorText);
  const signIn = useText(signInText);
  const { second_factor_missing: isMissing, second_factor_accounts: closed } = useMe();
  const search = new URLSearchParams(useSearch());
  const problem = search.get('problem');
  const unconfirmed = search.get('unconfirmed');
  return (
    <>
      <PageHeader title={t.security} description={t.securityDescription} back={isMissing ? undefined : ['/settings', t.title]} />
      {isMissing && (
        <Notice tone="warn" live title={factor.required}>
          {factor.requiredHint}
        </Notice>
      )}
      {closed.length > 0 && (
        <Notice tone="warn" live title={factor.required}>
          {factor.requiredByAccounts({ names: closed.map(({ name }) => name).join(', ') })}
        </Notice>
      )}
      {search.get('reset') !== null && (
        <Notice tone="warn" live title={t.resetReview}>
          {t.resetReviewHint}
        </Notice>
      )}
      {search.get('connected') !== null && (
        <Notice tone="good" live title={t.connected}>
          {t.connectedHint}
        </Notice>
      )}
      {problem !== null && (
        <Notice tone="bad" live title={t.notConnected}>
          {problemText(signIn, problem)}
        </Notice>
      )}
      {unconfirmed !== null && (
        <Notice tone="bad" live title={factor.notConfirmed}>
          {problemText(signIn, unconfirmed)}
        </Notice>
      )}
      <div className="grid gap-x-6 lg:grid-cols-2">
        <div className="min-w-0">
          <FactorsSection />
        </div>
        <div className="min-w-0">
          <PasswordSection />
          <ProviderSection />
        </div>
      </div>
      <SessionsSection />
    </>
  );
}
