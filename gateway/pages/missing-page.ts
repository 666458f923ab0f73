// The page for addresses that have none.
import { html } from './html.js';
import type { Speech } from './language.js';
import { page, type Place } from './page.js';
import { textsOf } from './texts.js';

export function missingPage(place: Place, speech: Speech): string {
  const { root } = place;
  const t = textsOf(speech.language);
  return page({
    title: `${t.missingTitle} · Tollgate`,
    description: t.missingText,
    place,
    speech,
    content: html`<h1>${t.missingTitle}</h1>
      <p>${t.missingText}</p>
      <p>
        <a href="${root}models${speech.suffix}">${t.models}</a> · <a href="${root}docs">${t.docs}</a> ·
        <a href="${root}console/">${t.console}</a>
      </p>`,
  });
}
