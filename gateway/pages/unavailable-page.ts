// The page for addresses of the catalog until this gateway has received the catalog.
import { html } from './html.js';
import type { PageLanguage } from './language.js';
import { page, type Place } from './page.js';
import { textsOf } from './texts.js';

export function unavailablePage(place: Place, pageLanguage: PageLanguage): string {
  const t = textsOf(pageLanguage.language);
  return page({
    title: `${t.models} · Tollgate`,
    description: t.catalogAwayTitle,
    place,
    pageLanguage,
    content: html`<h1>${t.catalogAwayTitle}</h1>
      <p>${t.catalogAwayText} <a href="">${t.tryAgain}</a></p>`,
  });
}
