// The command palette: finds pages, keys, models, accounts, and records by their request id.
import { type KeyboardEvent, type RefObject, useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { paletteText } from '../i18n/palette.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { useMaybeAccount } from '../session/account.js';
import { classNames } from '../ui/class-names.js';
import { Dialog } from '../ui/dialog.js';
import type { NavigationItem } from './navigation.js';
import { type Place, recordPath, usePlaces } from './palette-places.js';

interface Props {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly items: readonly NavigationItem[];
}

export function Palette({ open, onClose, items }: Props) {
  const t = useText(shellText);
  const field = useRef<HTMLInputElement>(null);
  return (
    <Dialog open={open} onClose={onClose} title={t.goTo} initialFocus={field}>
      <Search field={field} onClose={onClose} items={items} />
    </Dialog>
  );
}

/** An editable combobox with a list, as in the ARIA Authoring Practices: focus stays in the field, and the arrow keys choose. */
function Search({ field, onClose, items }: Omit<Props, 'open'> & { field: RefObject<HTMLInputElement | null> }) {
  const t = useText(paletteText);
  const { goTo } = useText(shellText);
  const [, go] = useLocation();
  const account = useMaybeAccount();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState(0);
  /** Enter was pressed before anything was found. */
  const [isEntered, setEntered] = useState(false);
  const { places, isFetching } = usePlaces(text, items);
  const [listId, hintId] = [useId(), useId()];
  const at = Math.min(chosen, places.length - 1);
  const idOf = (index: number): string => `${listId}-${index}`;
  useEffect(() => {
    document.getElementById(`${listId}-${at}`)?.scrollIntoView({ block: 'nearest' });
  }, [listId, at]);

  useEffect(() => {
    if (!isEntered) return;
    if (places[0] !== undefined) leave(places[0]);
    else if (!isFetching) setEntered(false);
  });

  function leave({ to, outside }: Pick<Place, 'to' | 'outside'>): void {
    onClose();
    if (outside === true) location.assign(to);
    else go(to);
  }

  function onKey(event: KeyboardEvent): void {
    const last = places.length - 1;
    const next = { ArrowDown: at >= last ? 0 : at + 1, ArrowUp: at <= 0 ? last : at - 1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      setChosen(next);
    } else if (event.key === 'Enter') {
      event.preventDefault();
      const place = places[at];
      // An input method's Enter only ends the word.
      if (event.nativeEvent.isComposing) return;
      if (place === undefined) setEntered(true);
      else leave(place);
    }
  }

  return (
    <>
      <input
        ref={field}
        type="text"
        role="combobox"
        className="control"
        aria-label={goTo}
        aria-expanded={places.length > 0}
        aria-controls={listId}
        aria-autocomplete="list"
        aria-describedby={hintId}
        aria-activedescendant={at < 0 ? undefined : idOf(at)}
        placeholder={t.goToHint}
        autoComplete="off"
        spellCheck={false}
        maxLength={200}
        value={text}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(0);
          setEntered(false);
          const to = recordPath(event.target.value, account);
          if (to !== undefined) leave({ to });
        }}
      />
      <p id={hintId} className="mt-1 text-sm text-soft">
        {t.requestIdHint}
      </p>
      <ul
        id={listId}
        role="listbox"
        aria-label={t.places}
        className={classNames('mt-3 max-h-[50dvh] overflow-y-auto', places.length > 0 && 'min-h-60')}
      >
        {places.map((place, index) => (
          <li
            key={place.id}
            id={idOf(index)}
            role="option"
            aria-selected={index === at}
            onClick={() => leave(place)}
            className={classNames(
              'flex min-h-10 cursor-pointer items-center gap-3 rounded px-2.5 py-1.5',
              index === at ? 'bg-hover' : 'hover:bg-hover',
            )}
          >
            <span className="min-w-0 flex-1 wrap-anywhere">
              {place.name}
              {place.hint !== undefined && <span className="ml-2 text-sm text-soft">{place.hint}</span>}
            </span>
            <span className="shrink-0 text-sm text-soft">{t[`kind.${place.kind}`]}</span>
          </li>
        ))}
      </ul>
      <p role="status" className={places.length > 0 ? 'sr-only' : 'text-soft'}>
        {places.length > 0 ? t.placesFound({ count: places.length }) : isFetching ? t.searching : t.placesNone}
      </p>
    </>
  );
}
