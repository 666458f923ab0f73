// The user's settings: profile and appearance.
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { LookSettings } from '../../shell/look-settings.js';
import { Card, PageHeader, Section } from '../../ui/layout.js';
import { ButtonLink } from '../../ui/button.js';
import { ProfileSection } from './settings-profile.js';

export default function SettingsPage() {
  const t = useText(settingsText);
  return (
    <>
      <PageHeader title={t.title} description={t.description} />
      <div className="grid gap-x-6 lg:grid-cols-2">
        <div className="min-w-0">
          <ProfileSection />
          <Section title={t.security} description={t.securityDescription}>
            <ButtonLink to="/settings/security">{t.toSecurity}</ButtonLink>
          </Section>
        </div>
        <div className="min-w-0">
          <Section title={t.look} description={t.lookHint}>
            <Card>
              <LookSettings />
            </Card>
          </Section>
        </div>
      </div>
    </>
  );
}
