// The frame around pages for users who are not signed in.
import type { ReactNode } from 'react';
import { gatewayUrl } from '../base.js';
import { shellText } from '../i18n/shell.js';
import { useText } from '../i18n/text.js';
import { LanguageChoice } from './choices.js';
import { NotFresh } from './not-fresh.js';
import { contentId, SkipLink } from './skip-link.js';

export function PublicFrame({ children }: { children: ReactNode }) {
  const t = useText(shellText);
  return (
    <div className="flex min-h-dvh flex-col">
      <SkipLink />
      <header className="flex flex-wrap items-center gap-x-5 gap-y-2 px-4 py-3">
        <a href={`${gatewayUrl}models`} className="text-lg font-bold">
          Tollgate
        </a>
        <nav aria-label={t.navigation} className="flex flex-1 gap-4">
          <a href={`${gatewayUrl}models`} className="link">
            {t.models}
          </a>
          <a href={`${gatewayUrl}docs`} className="link">
            {t.docs}
          </a>
        </nav>
        <LanguageChoice />
      </header>
      <NotFresh />
      <main id={contentId} tabIndex={-1} className="mx-auto w-full max-w-md flex-1 px-4 pt-8 pb-16 outline-none">
        {children}
      </main>
    </div>
  );
}
