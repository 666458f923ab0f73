// A choice of role with what each role permits, and of roles in single projects.
import { useId } from 'react';
import { type ProjectRole, type Role, roles } from '../../../api/session.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import { Disclosure } from '../../../ui/disclosure.js';
import { SelectField } from '../../../ui/field.js';
import { useProjects } from '../../projects/queries.js';

/** For the beginning of a line; within a sentence, roles are in lower case. */
export function RoleName({ role }: { role: Role }) {
  return <span className="inline-block first-letter:uppercase">{useText(membersText)[role]}</span>;
}

/** The role of owner is offered only to users who may add owners. */
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
                <span className="block font-medium first-letter:uppercase">{t[role]}</span>
                <span className="block text-sm text-soft">{t[`${role}Hint`]}</span>
              </span>
            </label>
          ))}
      </div>
    </fieldset>
  );
}

const inProject = ['none', 'viewer', 'developer'] as const;

/** What the member may do in projects beyond the role in the account. `isOpen` begins unfolded. */
export function ProjectRoles({
  value,
  onChange,
  isOpen,
}: {
  value: readonly ProjectRole[];
  onChange: (roles: ProjectRole[]) => void;
  isOpen: boolean;
}) {
  const t = useText(membersText);
  const projects = useProjects().data?.filter(({ deleted_at }) => deleted_at === null) ?? [];
  const set = (project_id: string, role: (typeof inProject)[number]): void => {
    const others = value.filter((each) => each.project_id !== project_id);
    onChange(role === 'none' ? others : [...others, { project_id, role }]);
  };
  return (
    <Disclosure summary={t.inProjects} open={isOpen}>
      <div className="flex flex-col gap-2">
        {projects.map(({ id, name }) => (
          <SelectField
            key={id}
            label={name}
            value={value.find(({ project_id }) => project_id === id)?.role ?? 'none'}
            onChange={(role) => set(id, role)}
            options={inProject.map((role) => ({ value: role, label: t[role] }))}
          />
        ))}
      </div>
    </Disclosure>
  );
}
