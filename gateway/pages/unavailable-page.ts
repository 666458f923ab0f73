// The page for addresses of the catalog while this gateway has not received it yet.
import { html } from './html.js';
import type { Speech } from './language.js';
import { page, type Place } from './page.js';
import { textsOf } from './texts.js';

export function unavailablePage(place: Place, speech: Speech): string {
  const t = textsOf(speech.language);
  return page({
    title: `${t.models} · Tollgate`,
    description: t.catalogAwayTitle,
    place,
    speech,
    content: html`<h1>${t.catalogAwayTitle}</h1>
      <p>${t.catalogAwayText} <a href="">${t.tryAgain}</a></p>`,
  });
}
