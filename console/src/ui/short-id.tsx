// A shortened id, with a button that copies the whole id.
import { Copy } from 'lucide-react';
import { Link } from 'wouter';
import { commonText } from '../i18n/common.js';
import { useText } from '../i18n/text.js';
import { IconButton } from './button.js';
import { copyText } from './copy.js';
import { toast } from './toasts/toast.js';

/** Returns the beginning and the end of an id; ids of about the same time differ at the end. */
export function shortId(id: string): string {
  return `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-8)}`;
}

/** Shows a shortened id. `to`: the page that it leads to. */
export function ShortId({ id, to }: { id: string; to?: string }) {
  const t = useText(commonText);
  const short = <code title={id}>{shortId(id)}</code>;
  const copy = async (): Promise<void> => toast((await copyText(id)) ? t.idCopied : `${t.somethingFailed}: ${id}`);
  return (
    <span className="inline-flex items-center whitespace-nowrap">
      {to === undefined ? (
        short
      ) : (
        <Link to={to} className="link">
          {short}
        </Link>
      )}
      <IconButton label={t.copyId} onClick={() => void copy()} className="no-print -my-3 shrink-0">
        <Copy size={15} aria-hidden />
      </IconButton>
    </span>
  );
}
