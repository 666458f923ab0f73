// The user's name and address.
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/client.js';
import { updateMe } from '../../api/users.js';
import { commonText } from '../../i18n/common.js';
import { settingsText } from '../../i18n/settings.js';
import { useText } from '../../i18n/text.js';
import { useMe } from '../../session/account.js';
import { meKey, queryClient } from '../../session/queries.js';
import { Button } from '../../ui/button.js';
import { EmailField, TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Card, Section } from '../../ui/layout.js';
import { fieldError, Notice } from '../../ui/notice.js';
import { toast } from '../../ui/toasts/toast.js';
import { CurrentPassword, ProfileError } from './profile-errors.js';

export function ProfileSection() {
  const t = useText(settingsText);
  const common = useText(commonText);
  const { user } = useMe();
  const [name, setName] = useState(user.name);
  const [email, setEmail] = useState(user.email);
  const [password, setPassword] = useState('');
  /** The address to which a link was emailed. */
  const [mailed, setMailed] = useState<string>();
  const isOtherEmail = email.trim().toLowerCase() !== user.email;
  const asksPassword = isOtherEmail && user.has_password;
  const save = useMutation({
    mutationFn: updateMe,
    async onSuccess(changed, { email: wanted }) {
      setEmail(changed.email);
      setPassword('');
      setMailed(changed.email_link_sent ? wanted?.trim() : undefined);
      await queryClient.invalidateQueries({ queryKey: meKey });
      if (!changed.email_link_sent) toast(t.saved);
    },
  });
  const isTaken = save.error instanceof ApiError && save.error.code === 'already_exists';
  return (
    <Section title={t.profile}>
      <Card>
        {mailed !== undefined && (
          <Notice tone="good" live title={t.emailMailed}>
            {t.emailMailedHint({ email: mailed })}
          </Notice>
        )}
        <ProfileError error={save.error} fields={['name', 'email']} onRepeat={() => save.mutate(save.variables!)} />
        <Form
          onSubmit={() =>
            save.mutate({ name, ...(isOtherEmail ? { email } : {}), ...(asksPassword ? { current_password: password } : {}) })
          }
        >
          <TextField
            label={t.name}
            name="name"
            autoComplete="name"
            required
            maxLength={200}
            value={name}
            onChange={(event) => setName(event.target.value)}
            error={fieldError(save.error, 'name')}
          />
          <EmailField
            label={t.email}
            hint={user.email_verified ? t.emailHint : t.emailUnverified}
            autoComplete="email"
            value={email}
            onChange={(event) => setEmail(event.target.value)}
            error={isTaken ? { error: save.error, text: t.emailTaken } : fieldError(save.error, 'email')}
          />
          {asksPassword && <CurrentPassword value={password} onChange={setPassword} error={save.error} hint={t.presentPasswordForEmail} />}
          <div>
            <Button type="submit" look="primary" busy={save.isPending} disabled={name === user.name && !isOtherEmail}>
              {common.save}
            </Button>
          </div>
        </Form>
      </Card>
    </Section>
  );
}
