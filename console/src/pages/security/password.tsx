// The user's password.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { putPassword } from '../../api/users.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { meKey, queryClient } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { PasswordField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Section } from '../../ui/layout.js';
import { fieldError } from '../../ui/notice.js';
import { toast } from '../../ui/toasts/toast.js';
import { CurrentPassword, isWrongPassword, ProfileError } from '../users/profile-errors.js';
import { sessionsKey } from '../users/query-keys.js';

export function PasswordSection() {
  const t = useText(settingsText);
  const { user, session } = useMe();
  const [present, setPresent] = useState('');
  const [wanted, setWanted] = useState('');
  const set = useMutation({
    mutationFn: putPassword,
    async onSuccess() {
      setPresent('');
      setWanted('');
      toast(t.passwordSet);
      await queryClient.invalidateQueries({ queryKey: meKey });
      await queryClient.invalidateQueries({ queryKey: sessionsKey });
    },
  });
  // A sign-in link is trusted for 15 minutes; after that the API requires the current password, for which the field is shown.
  const asksPresent = user.has_password && (!session.by_link || isWrongPassword(set.error));
  return (
    <Section title={t.password}>
      <Card>
        <p className="mb-3 text-soft">{user.has_password ? t.passwordEnds : t.passwordNone}</p>
        {user.has_password && session.by_link && !asksPresent && <p className="mb-3 text-soft">{t.passwordByLink}</p>}
        <ProfileError error={set.error} fields={['new_password']} onRepeat={() => set.mutate(set.variables!)} />
        <Form onSubmit={() => set.mutate({ new_password: wanted, ...(asksPresent ? { current_password: present } : {}) })}>
          {/* For the browser's password manager, which would otherwise not know the user name. */}
          <input type="email" name="username" autoComplete="username" value={user.email} readOnly hidden />
          {asksPresent && <CurrentPassword value={present} onChange={setPresent} error={set.error} />}
          <PasswordField
            label={t.newPassword}
            hint={t.newPasswordHint}
            name="new-password"
            autoComplete="new-password"
            minLength={10}
            value={wanted}
            onChange={(event) => setWanted(event.target.value)}
            error={fieldError(set.error, 'new_password')}
          />
          <div>
            <Button type="submit" look="primary" busy={set.isPending}>
              {user.has_password ? t.changePassword : t.setPassword}
            </Button>
          </div>
        </Form>
      </Card>
    </Section>
  );
}
