// The first stop of the Tab key on every page: a link past the navigation, shown while it has the focus.
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';

/** The id of the main element, which must be able to take the focus. */
export const contentId = 'content';

export function SkipLink() {
  const t = useText(shellText);
  return (
    <a
      href={`#${contentId}`}
      className="sr-only focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-80 focus:rounded-md focus:bg-accent focus:px-3 focus:py-2 focus:text-on-accent"
      onClick={(event) => {
        // With the base element, a link to a fragment would lead to another page.
        event.preventDefault();
        document.getElementById(contentId)?.focus();
      }}
    >
      {t.skip}
    </a>
  );
}
