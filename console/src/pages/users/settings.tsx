// The user's settings: profile, sign-in methods, sessions, and the look of the console.
import { useSearch } from 'wouter';
import { problemText, signInText } from '../../i18n/sign-in.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { LookSettings } from '../../shell/look-settings.js';
import { Card, PageHeader, Section } from '../../ui/layout.js';
import { Notice } from '../../ui/notice.js';
import { PasswordSection } from './settings-password.js';
import { ProfileSection } from './settings-profile.js';
import { ProviderSection } from './settings-provider.js';
import { SessionsSection } from './settings-sessions.js';

export default function SettingsPage() {
  const t = useText(settingsText);
  const signIn = useText(signInText);
  const search = new URLSearchParams(useSearch());
  const problem = search.get('problem');
  return (
    <>
      <PageHeader title={t.title} description={t.description} />
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
      <div className="grid gap-x-6 lg:grid-cols-2">
        <div className="min-w-0">
          <ProfileSection />
          <PasswordSection />
        </div>
        <div className="min-w-0">
          <Section title={t.look} description={t.lookHint}>
            <Card>
              <LookSettings />
            </Card>
          </Section>
          <ProviderSection />
        </div>
      </div>
      <SessionsSection />
    </>
  );
}
