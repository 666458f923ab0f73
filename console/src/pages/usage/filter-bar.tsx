// The filter of the overview and of the records: the range is always visible, other filters are in a dialog, and active filters are shown as chips.
import { SlidersHorizontal, X } from 'lucide-react';
import { lazy, type ReactNode, useState } from 'react';
import { useTime } from '../../format/time.js';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { serverFile } from '../../session/server-file.js';
import { ZoneChoice } from '../../shell/choices.js';
import { Button } from '../../ui/button.js';
import { classNames } from '../../ui/class-names.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { LazyDialog } from '../../ui/lazy-dialog.js';
import { Segmented } from '../../ui/segmented.js';
import { useProjectName } from '../projects/queries.js';
import { useOutcomeName } from './outcome.js';
import { useKeyNames } from '../keys/key-names.js';
import { useMembers, useView } from './use-view.js';
import { type FilterPart, filterParts, noFilter, type Range } from './view.js';

const FilterDialog = lazy(() => serverFile(() => import('./filter-dialog.js')));
const requestIdForm = /^req_[0-9a-f]{32}$/;

/** `shown`: the range in use, even if the address has none. `ranges`: the available ranges. `ids`: whether a call can be found by its id. */
export function FilterBar({
  shown,
  ranges,
  ids,
  children,
}: {
  shown: Range;
  ranges: readonly Extract<Range, string>[];
  ids: boolean;
  children?: ReactNode;
}) {
  const t = useText(usageText);
  const [, change] = useView();
  const [isOpen, setOpen] = useState(false);
  /** On a phone. */
  const [isShown, setShown] = useState(false);
  return (
    <div className="mb-4">
      <Button className="mb-2 sm:hidden" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
        <SlidersHorizontal size={16} aria-hidden />
        {t.rangeAndFilters}
      </Button>
      <div className={classNames('flex flex-wrap items-center gap-2', !isShown && 'max-sm:hidden')}>
        <Segmented<Extract<Range, string> | 'custom'>
          label={t.range}
          value={typeof shown === 'object' ? 'custom' : shown}
          onChange={(range) => (range === 'custom' ? setOpen(true) : change({ range }))}
          options={[...ranges, 'custom' as const].map((range) => ({ value: range, label: t[`range.${range}`] }))}
        />
        <ZoneChoice />
        <Button onClick={() => setOpen(true)} aria-haspopup="dialog">
          <SlidersHorizontal size={16} aria-hidden />
          {t.filters}
        </Button>
        {children}
        {ids && <FindById />}
      </div>
      <Chips shown={shown} ids={ids} />
      {isOpen && (
        <LazyDialog onClose={() => setOpen(false)}>
          <FilterDialog shown={shown} widest={ranges.includes('all') ? 'all' : '90d'} onClose={() => setOpen(false)} />
        </LazyDialog>
      )}
    </div>
  );
}

/** Finds one call by its id, when Enter is pressed. */
function FindById() {
  const t = useText(usageText);
  const [view, change] = useView();
  const [text, setText] = useState('');
  const [fault, setFault] = useState<string>();

  function find(): void {
    const requestId = text.trim();
    if (!requestIdForm.test(requestId)) return setFault(t.requestIdForm);
    setText('');
    if (requestId !== view.requestId) change({ requestId });
  }

  return (
    <Form role="search" onSubmit={find} className="min-w-48 max-w-sm flex-1">
      <TextField
        label={t.findById}
        hideLabel
        type="search"
        spellCheck={false}
        placeholder={t.findByIdPlaceholder}
        error={fault}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setFault(undefined);
        }}
      />
    </Form>
  );
}

function Chips({ shown, ids }: { shown: Range; ids: boolean }) {
  const t = useText(usageText);
  const time = useTime();
  const { nameOf } = useKeyNames();
  const { memberName } = useMembers();
  const projectName = useProjectName();
  const outcomeName = useOutcomeName();
  const [view, change] = useView();
  const valueOf = (part: FilterPart): string =>
    part === 'project'
      ? projectName(view.project)
      : part === 'key'
        ? nameOf(view.key)
        : part === 'member'
          ? memberName(view.member)
          : part === 'outcome'
            ? outcomeName(view.outcome)
            : view[part];
  const parts = filterParts.filter((part) => view[part] !== '' && (ids || part !== 'requestId'));
  if (parts.length === 0 && typeof shown === 'string') return null;
  return (
    <ul aria-label={t.activeFilters} className="mt-2 flex flex-wrap gap-2">
      {typeof shown === 'object' && (
        <Chip
          name={t.time}
          value={t.timeChip({
            from: shown.from === '' ? t.timeOpenStart : time.minute(shown.from),
            until: shown.until === '' ? t.timeOpenEnd : time.minute(shown.until),
          })}
          onRemove={() => change({ range: undefined })}
        />
      )}
      {parts.map((part) => (
        <Chip key={part} name={t[part]} value={valueOf(part)} onRemove={() => change({ [part]: '' })} />
      ))}
      {parts.length > 1 && (
        <li>
          <Button look="ghost" onClick={() => change(noFilter)}>
            {t.clearFilters}
          </Button>
        </li>
      )}
    </ul>
  );
}

function Chip({ name, value, onRemove }: { name: string; value: string; onRemove: () => void }) {
  const t = useText(usageText);
  return (
    <li className="inline-flex max-w-full items-center rounded-full border border-line bg-panel pl-3 text-sm">
      <span className="min-w-0 wrap-anywhere">
        <span className="text-soft">{name}: </span>
        {value}
      </span>
      <button
        type="button"
        aria-label={t.removeFilter({ name, value })}
        onClick={onRemove}
        className="ml-1 inline-flex size-10 shrink-0 items-center justify-center rounded-full hover:bg-hover"
      >
        <X size={15} aria-hidden />
      </button>
    </li>
  );
}
