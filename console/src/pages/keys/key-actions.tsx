// The actions for a key, in the list and on its page. Their dialogs are in key-dialogs.tsx.
import { useMutation } from '@tanstack/react-query';
import { useLocation } from 'wouter';
import { type ApiKey, updateKey } from '../../api/keys.js';
import { keysText } from '../../i18n/keys.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import type { MenuAction } from '../../ui/menu.js';
import { toast } from '../../ui/toasts/toast.js';
import { useKeyChanged } from './queries.js';

type Action = 'edit' | 'rotate' | 'revoke';

/** The key and the dialog that is open for it. */
export interface OpenAction {
  readonly action: Action;
  readonly apiKey: ApiKey;
}

/** Enables or disables a key, and offers to undo it. */
export function useToggle() {
  const account = useAccount();
  const t = useText(keysText);
  const changed = useKeyChanged();
  const toggle = useMutation({
    mutationFn: ({ apiKey, state }: { apiKey: ApiKey; state: 'active' | 'disabled' }) => updateKey(account.id, apiKey, { state }),
    onSuccess: (after, { state }) => {
      changed(after);
      const isOff = state === 'disabled';
      const undo = { label: t.undo, onPress: () => toggle.mutate({ apiKey: after, state: isOff ? 'active' : 'disabled' }) };
      toast(isOff ? t.wasDisabled({ name: after.name }) : t.wasEnabled({ name: after.name }), undo);
    },
  });
  return toggle;
}

/** Whether the key is disabled; the state of a suspended account hides this. */
export const isOff = (apiKey: ApiKey): boolean => apiKey.state === 'disabled';

/** The actions of a row, without those that would be refused. */
export function useKeyMenu(
  open: (action: OpenAction) => void,
  toggle: ReturnType<typeof useToggle>,
): (apiKey: ApiKey) => readonly (MenuAction | false)[] {
  const account = useAccount();
  const t = useText(keysText);
  const [, go] = useLocation();
  return (apiKey) => {
    const mayChange = account.can('change keys', apiKey.project_id) && apiKey.state !== 'revoked';
    return [
      mayChange && { label: t.edit, onSelect: () => open({ action: 'edit', apiKey }) },
      mayChange && {
        label: isOff(apiKey) ? t.enable : t.disable,
        onSelect: () => toggle.mutate({ apiKey, state: isOff(apiKey) ? 'active' : 'disabled' }),
      },
      mayChange && { label: t.rotate, onSelect: () => open({ action: 'rotate', apiKey }) },
      { label: t.seeUsage, onSelect: () => go(account.path(`/usage?key=${apiKey.id}`)) },
      mayChange && { label: t.revoke, danger: true, onSelect: () => open({ action: 'revoke', apiKey }) },
    ];
  };
}
