// Collapsible content, with the browser's own `details` element.
import { type ReactNode, useContext, useLayoutEffect, useRef } from 'react';
import { Submissions } from './form.js';

/** `open` opens it, and opens it again when the form around it is submitted. Only the user closes it, because that would hide what was typed. */
export function Disclosure({ summary, open = false, children }: { summary: ReactNode; open?: boolean; children: ReactNode }) {
  const details = useRef<HTMLDetailsElement>(null);
  const submissions = useContext(Submissions);
  useLayoutEffect(() => {
    if (open) details.current!.open = true;
  }, [open, submissions]);
  return (
    <details ref={details} className="rounded-md border border-line">
      <summary className="min-h-10 px-3.5 py-2 font-medium hover:bg-hover">{summary}</summary>
      <div className="border-t border-line p-3.5">{children}</div>
    </details>
  );
}
