// Collapsible content, with the browser's own `details` element.
import type { ReactNode } from 'react';

export function Disclosure({ summary, open, children }: { summary: ReactNode; open?: boolean; children: ReactNode }) {
  return (
    <details open={open} className="rounded-md border border-line">
      <summary className="min-h-10 px-3.5 py-2 font-medium hover:bg-hover">{summary}</summary>
      <div className="border-t border-line p-3.5">{children}</div>
    </details>
  );
}
