// The page for addresses that have none.
import { html } from './html.js';
import type { PageLanguage } from './language.js';
import { page, type Place } from './page.js';
import { textsOf } from './texts.js';

export function missingPage(place: Place, pageLanguage: PageLanguage): string {
  const { root } = place;
  const t = textsOf(pageLanguage.language);
  return page({
    title: `${t.missingTitle} · Tollgate`,
    description: t.missingText,
    place,
    pageLanguage,
    content: html`<h1>${t.missingTitle}</h1>
      <p>${t.missingText}</p>
      <p>
        <a href="${root}models${pageLanguage.suffix}">${t.models}</a> · <a href="${root}docs">${t.docs}</a> ·
        <a href="${root}console/">${t.console}</a>
      </p>`,
  });
}
