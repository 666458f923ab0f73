// The dialogs of the frame, loaded when the first of them is opened.
import { useMutation } from '@tanstack/react-query';
import { Search } from 'lucide-react';
import { useLocation } from 'wouter';
import { signOut } from '../api/session.js';
import { paletteText } from '../i18n/palette.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { useMe } from '../session/account.js';
import { forgetUser, meKey, queryClient } from '../session/queries.js';
import { Button } from '../ui/button.js';
import { Dialog } from '../ui/dialog.js';
import { Facts } from '../ui/layout.js';
import { FormError } from '../ui/notice.js';
import { LookSettings } from './look-settings.js';
import { paletteKeys } from './shortcuts.js';
import type { NavigationItem } from './navigation.js';
import { NavigationList } from './navigation-list.js';
import { Palette } from './palette.js';

/** The open dialog. */
export type FrameDialog = 'user' | 'more' | 'shortcuts' | 'palette';

interface Props {
  readonly open: FrameDialog | undefined;
  readonly onClose: () => void;
  readonly onSearch: () => void;
  readonly items: readonly NavigationItem[];
}

export default function FrameDialogs({ open, onClose, onSearch, items }: Props) {
  const [t, palette] = [useText(shellText), useText(paletteText)];
  return (
    <>
      <Palette open={open === 'palette'} onClose={onClose} items={items} />
      <UserDialog isOpen={open === 'user'} onClose={onClose} />
      <Dialog open={open === 'more'} onClose={onClose} title={t.menu}>
        <Button className="mb-2 w-full" onClick={onSearch}>
          <Search size={16} aria-hidden />
          {t.goTo}
        </Button>
        <NavigationList items={items} />
      </Dialog>
      <Dialog open={open === 'shortcuts'} onClose={onClose} title={t.shortcuts}>
        <Facts
          facts={[
            ...items.flatMap((item) =>
              item.shortcut === undefined
                ? []
                : [[<kbd key={item.to}>{`g ${item.shortcut}`}</kbd>, t.shortcutGo({ page: t[item.text] as string })] as const],
            ),
            [<kbd key="k">{paletteKeys}</kbd>, palette.shortcutGoTo],
            [<kbd key="/">/</kbd>, t.shortcutSearch],
            [<kbd key="?">?</kbd>, t.shortcutHelp],
          ]}
        />
      </Dialog>
    </>
  );
}

/** Shows the signed-in user, appearance settings, and sign-out. */
function UserDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const t = useText(shellText);
  const { user } = useMe();
  const [, go] = useLocation();
  const leave = useMutation({
    mutationFn: signOut,
    onSuccess() {
      forgetUser();
      queryClient.setQueryData(meKey, null);
      go('/sign-in');
    },
  });
  return (
    <Dialog
      open={isOpen}
      onClose={onClose}
      title={user.name === '' ? user.email : user.name}
      description={t.signedInAs({ email: user.email })}
      footer={
        <>
          <Button
            onClick={() => {
              onClose();
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
  );
}
