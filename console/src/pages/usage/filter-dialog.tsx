// Chooses the filter of usage: days, project, key, member, model and outcome.
import { useState } from 'react';
import { outcomes } from '../../api/usage.js';
import { useOffsetAt } from '../../format/time.js';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { useAccount } from '../../session/account.js';
import { FormDialog } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { useProjectName, useProjects } from '../projects/queries.js';
import { useOutcomeName } from './outcome.js';
import { useKeyNames } from '../keys/key-names.js';
import { useCalledModels, useMembers, useView, useZoneName } from './use-view.js';
import { boundsOf, daysOfBounds, noMember, type Range, rangeOfDays } from './view.js';

export default function FilterDialog({ shown, widest, onClose }: { shown: Range; widest: Range; onClose: () => void }) {
  const t = useText(usageText);
  const account = useAccount();
  const offsetAt = useOffsetAt();
  const zoneName = useZoneName();
  const outcomeName = useOutcomeName();
  const { keys, nameOf } = useKeyNames();
  const { members, memberName } = useMembers();
  const projects = useProjects().data ?? [];
  const projectName = useProjectName();
  const [view, change] = useView();
  const [before] = useState(() => daysOfBounds(boundsOf(shown, Date.now(), offsetAt), offsetAt));
  const [chosen, setChosen] = useState({
    ...before,
    project: view.project,
    key: view.key,
    member: view.member,
    model: view.model,
    outcome: view.outcome,
  });
  const models = useCalledModels() ?? [];
  const set = (part: Partial<typeof chosen>) => setChosen({ ...chosen, ...part });
  const dayFault = chosen.first !== '' && chosen.last !== '' && chosen.last < chosen.first ? t.dayOrder : undefined;

  function apply(): void {
    if (dayFault !== undefined) return;
    const { first, last, project, key, member, model, outcome } = chosen;
    // If the days are unchanged, the range stays unchanged too, because it may begin within a day.
    const isSame = first === before.first && last === before.last;
    const range = isSame ? view.range : first === '' && last === '' ? widest : rangeOfDays(first, last, offsetAt);
    change({ range, project, key, member, model, outcome });
    onClose();
  }

  return (
    <FormDialog onClose={onClose} title={t.filters} description={t.filtersAbout} submit={t.applyFilters} onSubmit={apply}>
      <SelectField
        label={t.project}
        value={chosen.project}
        onChange={(project) => set({ project })}
        options={optionsOf(
          t.anyProject,
          chosen.project,
          projects.map(({ id }) => id),
          projectName,
        )}
      />
      <SelectField
        label={t.key}
        value={chosen.key}
        onChange={(key) => set({ key })}
        options={optionsOf(
          t.anyKey,
          chosen.key,
          keys.map(({ id }) => id),
          nameOf,
        )}
      />
      {account.can('look') && (
        <SelectField
          label={t.member}
          hint={t.memberHint}
          value={chosen.member}
          onChange={(member) => set({ member })}
          options={optionsOf(t.anyMember, chosen.member, [...members.map(({ id }) => id), noMember], memberName)}
        />
      )}
      <SelectField
        label={t.model}
        value={chosen.model}
        onChange={(model) => set({ model })}
        options={optionsOf(t.anyModel, chosen.model, models, (id) => id)}
      />
      <SelectField
        label={t.outcome}
        value={chosen.outcome}
        onChange={(outcome) => set({ outcome })}
        options={optionsOf(t.anyOutcome, chosen.outcome, outcomes, outcomeName)}
      />
      <div>
        <div className="grid grid-cols-2 gap-3">
          <TextField label={t.firstDay} type="date" value={chosen.first} onChange={(event) => set({ first: event.target.value })} />
          <TextField
            label={t.lastDay}
            type="date"
            error={dayFault}
            value={chosen.last}
            onChange={(event) => set({ last: event.target.value })}
          />
        </div>
        <p className="mt-1 text-sm text-soft">{t.daysHint({ zone: zoneName() })}</p>
      </div>
    </FormDialog>
  );
}

/** Returns the options, including a value from the address that is not among the known ones. */
function optionsOf(
  all: string,
  chosen: string,
  values: readonly string[],
  nameOf: (value: string) => string,
): { value: string; label: string }[] {
  const known = chosen === '' || values.includes(chosen) ? values : [chosen, ...values];
  return [{ value: '', label: all }, ...known.map((value) => ({ value, label: nameOf(value) }))];
}
