// A button that copies a text.
import { Check, Copy, TriangleAlert } from 'lucide-react';
import { type RefObject, useEffect, useState } from 'react';
import { commonText } from '../i18n/common.js';
import { useText } from '../i18n/text.js';
import { Button } from './button.js';
import { copyText } from './copy-text.js';

export { copyText } from './copy-text.js';

/** Copies `text`. If copying fails, reports it and selects the text in `source`, so that the user can copy it. */
export function CopyButton({
  text,
  label,
  source,
  onCopied,
  look = 'secondary',
  size = 'normal',
}: {
  text: string;
  label?: string;
  source?: RefObject<HTMLElement | null>;
  onCopied?: () => void;
  look?: 'primary' | 'secondary' | 'ghost';
  size?: 'normal' | 'small';
}) {
  const t = useText(commonText);
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state !== 'copied') return undefined;
    const timer = setTimeout(() => setState('ready'), 2500);
    return () => clearTimeout(timer);
  }, [state]);

  async function copy(): Promise<void> {
    const isCopied = await copyText(text);
    setState(isCopied ? 'copied' : 'failed');
    if (isCopied) onCopied?.();
    else if (source?.current) getSelection()?.selectAllChildren(source.current);
  }

  return (
    <span className="inline-flex flex-wrap items-center gap-2">
      <Button look={look} size={size} onClick={() => void copy()}>
        {state === 'copied' ? <Check size={16} aria-hidden /> : <Copy size={16} aria-hidden />}
        {state === 'copied' ? t.copied : (label ?? t.copy)}
      </Button>
      <span role="status" className={state === 'failed' ? 'inline-flex items-center gap-1 text-sm text-bad' : 'sr-only'}>
        {state === 'failed' && <TriangleAlert size={14} aria-hidden />}
        {state === 'failed' ? t.copyFailed : state === 'copied' ? t.copied : ''}
      </span>
    </span>
  );
}
