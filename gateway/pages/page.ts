// The frame of every public page: head, header and footer. Every page is complete without scripts; those of the console's build add convenience.
import { type Html, html } from './html.js';
import { languages, type PageLanguage } from './language.js';
import { styleElement } from './style.js';
import { type Texts, textsOf } from './texts.js';

/** Where a page is: in the site, and for other sites. */
export interface Place {
  /** The path of the gateway's root as the browser sees it, relative to the page, ending in a slash. */
  readonly root: string;
  /** The absolute address of the gateway's root, without a trailing slash. */
  readonly site: string;
  /** The path of the page below the root, without its query, for example `models/sandbox/echo`. */
  readonly path: string;
  /** Whether search engines must not list the page. */
  readonly isUnlisted?: boolean;
}

/** Returns a whole page. Without `pageLanguage` it is in English only. */
export function page(options: { title: string; description: string; place: Place; content: Html; pageLanguage?: PageLanguage }): string {
  const { title, description, place, content, pageLanguage } = options;
  const { root } = place;
  const language = pageLanguage?.language ?? 'en';
  const t = textsOf(language);
  const suffix = pageLanguage?.suffix ?? '';
  const link = (to: string, text: string): Html => {
    const isHere = place.path === to || place.path.startsWith(`${to}/`);
    return html`<a href="${root}${to}${to === 'docs' ? '' : suffix}" ${isHere ? html` aria-current="true"` : ''}>${text}</a>`;
  };
  return html`<!doctype html>
    <html lang="${language}" data-copy="${t.copy}" data-copied="${t.copied}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <meta name="description" content="${description}" />
        ${place.isUnlisted === true ? html`<meta name="robots" content="noindex" />` : addresses(options)}
        <link rel="icon" href="${root}console/icon.svg" type="image/svg+xml" />
        ${styleElement}
        <script src="${root}console/theme.js"></script>
        <script type="module" src="${root}console/site.js"></script>
      </head>
      <body>
        <a class="skip" href="#main-content">${t.skip}</a>
        <header class="top">
          <nav class="bar" aria-label="Tollgate">
            <a class="brand" href="${root}${suffix}"
              ><img src="${root}console/icon.svg" alt="" width="24" height="24" /><span>Tollgate</span></a
            >${link('models', t.models)}${link('docs', t.docs)}<a href="${root}console/">${t.console}</a
            >${pageLanguage === undefined ? '' : otherLanguage(pageLanguage, t)}
          </nav>
        </header>
        <main id="main-content" tabindex="-1">${content}</main>
        <footer>${t.footer}</footer>
      </body>
    </html> `.text;
}

/** Returns what link previews and search engines read. */
function addresses(options: { title: string; description: string; place: Place; pageLanguage?: PageLanguage }): Html {
  const { title, description, place, pageLanguage } = options;
  const address = `${place.site}/${place.path}`;
  const chosen = pageLanguage === undefined || pageLanguage.suffix === '' ? address : `${address}${pageLanguage.suffix}`;
  const translations =
    pageLanguage === undefined
      ? ''
      : languages.map((each) => html`<link rel="alternate" hreflang="${each}" href="${address}?lang=${each}" />`);
  return html`<link rel="canonical" href="${chosen}" />${translations}
    <meta property="og:type" content="website" />
    <meta property="og:site_name" content="Tollgate" />
    <meta property="og:title" content="${title}" />
    <meta property="og:description" content="${description}" />
    <meta property="og:url" content="${chosen}" />
    <meta property="og:image" content="${place.site}/console/preview.png" />
    <meta name="twitter:card" content="summary_large_image" />`;
}

function otherLanguage({ language, otherHref }: PageLanguage, t: Texts): Html {
  const other = languages.find((each) => each !== language)!;
  return html`<a class="other" rel="nofollow" lang="${other}" hreflang="${other}" href="${otherHref}">${t.otherLanguage}</a>`;
}
