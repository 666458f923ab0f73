// A block of code with a button to copy it.
import { useRef } from 'react';
import { CopyButton } from './copy.js';

/** `label` names it for screen readers. */
export function CodeBlock({ code, label, onCopied }: { code: string; label: string; onCopied?: () => void }) {
  const source = useRef<HTMLPreElement>(null);
  return (
    <div className="rounded-md border border-line bg-panel">
      <div className="flex justify-end border-b border-line p-1">
        <CopyButton text={code} source={source} onCopied={onCopied} look="ghost" size="small" />
      </div>
      <pre
        ref={source}
        role="region"
        aria-label={label}
        tabIndex={0}
        className="max-h-80 overflow-auto p-3 text-sm whitespace-pre-wrap wrap-anywhere"
      >
        {code}
      </pre>
    </div>
  );
}
