// A choice of role that says what each allows.
import { useId } from 'react';
import { type Role, roles } from '../../api/session.js';
import { membersText } from '../../i18n/members.js';
import { useText } from '../../i18n/text.js';

/** Owners are offered only where one may make them. */
export function RoleChoice({ value, onChange, withOwner }: { value: Role; onChange: (role: Role) => void; withOwner: boolean }) {
  const t = useText(membersText);
  const name = useId();
  return (
    <fieldset>
      <legend className="mb-1 text-sm font-medium">{t.role}</legend>
      <div className="flex flex-col">
        {roles
          .filter((role) => role !== 'owner' || withOwner)
          .map((role) => (
            <label key={role} className="flex min-h-10 cursor-pointer items-start gap-2.5 rounded-md p-2 hover:bg-hover">
              <input
                type="radio"
                name={name}
                value={role}
                checked={role === value}
                onChange={() => onChange(role)}
                className="mt-1 size-4.5 shrink-0 accent-accent"
              />
              <span>
                <span className="block font-medium">{t[role]}</span>
                <span className="block text-sm text-soft">{t[`${role}Hint`]}</span>
              </span>
            </label>
          ))}
      </div>
    </fieldset>
  );
}
