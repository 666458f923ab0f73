// Who is signed in, how the console looks, and the way out.
import { useMutation } from '@tanstack/react-query';
import { CircleUser } from 'lucide-react';
import { useState } from 'react';
import { useLocation } from 'wouter';
import { signOut } from '../api/session.js';
import { setTheme, useTheme } from '../format/theme.js';
import { setZone, useZone, zoneName } from '../format/time.js';
import { shellText } from '../i18n/shell.js';
import { setLanguage, useLanguage, useText } from '../i18n/text.js';
import { useMe } from '../session/account.js';
import { meKey, queryClient } from '../session/queries.js';
import { Button, IconButton } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { FormError } from '../ui/notice.js';
import { Segmented } from '../ui/segmented.js';

export function UserMenu() {
  const t = useText(shellText);
  const { user } = useMe();
  const [isOpen, setOpen] = useState(false);
  const [, go] = useLocation();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess() {
      queryClient.clear();
      queryClient.setQueryData(meKey, null);
      go('/sign-in');
    },
  });
  return (
    <>
      <IconButton label={t.settings} onClick={() => setOpen(true)}>
        <CircleUser size={20} aria-hidden />
      </IconButton>
      <Dialog
        open={isOpen}
        onClose={() => setOpen(false)}
        title={user.name === '' ? user.email : user.name}
        description={t.signedInAs({ email: user.email })}
        footer={
          <>
            <Button
              onClick={() => {
                setOpen(false);
                go('/settings');
              }}
            >
              {t.settings}
            </Button>
            <Button onClick={() => leave.mutate()} busy={leave.isPending}>
              {t.signOut}
            </Button>
          </>
        }
      >
        <FormError error={leave.error} />
        <LookSettings />
      </Dialog>
    </>
  );
}

/** Theme, language and time zone, which this browser remembers. */
export function LookSettings() {
  const t = useText(shellText);
  const [theme, language, zone] = [useTheme(), useLanguage(), useZone()];
  return (
    <div className="flex flex-col gap-4">
      <div>
        <p className="mb-1 text-sm font-medium">{t.theme}</p>
        <Segmented
          label={t.theme}
          value={theme}
          onChange={setTheme}
          options={[
            { value: 'auto', label: t.themeAuto },
            { value: 'light', label: t.themeLight },
            { value: 'dark', label: t.themeDark },
          ]}
        />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.language}</p>
        <Segmented
          label={t.language}
          value={language}
          onChange={setLanguage}
          options={[
            { value: 'en', label: 'English' },
            { value: 'zh-CN', label: '简体中文' },
          ]}
        />
      </div>
      <div>
        <p className="mb-1 text-sm font-medium">{t.zone}</p>
        <Segmented
          label={t.zone}
          value={zone}
          onChange={setZone}
          options={[
            { value: 'utc', label: t.zoneUtc },
            { value: 'local', label: t.zoneLocal({ name: zoneName('local') }) },
          ]}
        />
      </div>
    </div>
  );
}
