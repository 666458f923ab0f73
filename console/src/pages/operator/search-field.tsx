// A search field that searches shortly after the last key press.
import { useEffect, useState } from 'react';

const pauseMs = 250;

export function SearchField({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const [text, setText] = useState(value);
  // The field follows the address when a link changes it, for example to the page without a search.
  const [known, setKnown] = useState(value);
  if (value !== known) {
    setKnown(value);
    setText(value);
  }
  useEffect(() => {
    if (text === value) return undefined;
    const timer = setTimeout(() => {
      setKnown(text);
      onChange(text);
    }, pauseMs);
    return () => clearTimeout(timer);
  }, [text, value, onChange]);
  return (
    <form role="search" className="min-w-0 grow basis-60 sm:max-w-sm" onSubmit={(event) => event.preventDefault()}>
      <input
        type="search"
        className="control"
        aria-label={label}
        placeholder={label}
        value={text}
        autoComplete="off"
        maxLength={200}
        onChange={(event) => setText(event.target.value)}
      />
    </form>
  );
}
