// The frame of every public page: head, style, header and footer. No script runs on these pages, so that none needs to be allowed.
import { createHash } from 'node:crypto';
import { Html, html } from './html.js';
import { languages, type Speech } from './language.js';
import { type Texts, textsOf } from './texts.js';

const style = `
:root{color-scheme:light dark;--bg:#fff;--fg:#1a1d21;--soft:#596069;--line:#d9dde2;--panel:#f5f6f8;--accent:#0b5cad;--warn:#8a4b00}
@media(prefers-color-scheme:dark){:root{--bg:#14171a;--fg:#e6e8eb;--soft:#a2abb5;--line:#343a41;--panel:#1d2125;--accent:#7ab8ff;--warn:#f0b35f}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,sans-serif}
header,main,footer{max-width:72rem;margin:0 auto;padding:0 1rem}
header{display:flex;gap:1.25rem;align-items:baseline;padding-top:1rem;padding-bottom:1rem;flex-wrap:wrap}
footer{color:var(--soft);padding-top:2rem;padding-bottom:2rem;font-size:.9rem}
a{color:var(--accent)}
.brand{font-weight:700;color:var(--fg);text-decoration:none}
h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}
h2{font-size:1.2rem;margin:2rem 0 .5rem}
h3{font-size:1rem;margin:1rem 0 .3rem}
p{margin:.5rem 0;max-width:46rem}
.other{margin-left:auto}
.soft{color:var(--soft)}
.warn{color:var(--warn)}
form{display:flex;flex-wrap:wrap;gap:.5rem .9rem;align-items:end;margin:1rem 0;padding:.8rem;background:var(--panel);border:1px solid var(--line);border-radius:.5rem}
label{display:flex;flex-direction:column;font-size:.85rem;color:var(--soft);gap:.15rem}
label.check{flex-direction:row;align-items:center;gap:.35rem;color:var(--fg)}
fieldset{border:0;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.35rem .9rem;width:100%}
legend{font-size:.85rem;color:var(--soft);padding:0}
input,select,button{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--soft);border-radius:.35rem;padding:.35rem .5rem;max-width:100%}
input[type=number]{width:9rem}
button{background:var(--accent);border-color:var(--accent);color:var(--bg);padding:.35rem .9rem;cursor:pointer}
.action{display:inline-block;border:1px solid var(--accent);border-radius:.35rem;padding:.35rem .9rem;text-decoration:none}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.5rem .75rem .5rem 0;border-top:1px solid var(--line)}
.n{text-align:right;white-space:nowrap}
code,pre{font:.88rem/1.45 ui-monospace,monospace;overflow-wrap:anywhere}
pre{background:var(--panel);border:1px solid var(--line);border-radius:.5rem;padding:.8rem;overflow-x:auto;white-space:pre-wrap}
.tag{display:inline-block;border:1px solid var(--line);border-radius:1rem;padding:0 .55rem;font-size:.8rem;margin:0 .25rem .25rem 0;font-weight:400}
h2 .anchor,h3 .anchor{color:var(--soft);text-decoration:none;font-weight:400}
.toc ul,.guides{columns:16rem;padding-left:1.2rem;margin:.5rem 0 1rem}
.docs .pages{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.95rem}
.pages [aria-current]{color:var(--fg);font-weight:600;text-decoration:none}
.docs article{min-width:0}
.docs table{margin:.75rem 0}
.docs h3{overflow-wrap:anywhere}
.docs li{max-width:46rem}
@media(min-width:48.01rem){.docs td code{overflow-wrap:break-word}}
@media(min-width:64rem){
.docs{display:grid;grid-template-columns:11rem minmax(0,1fr);gap:2.5rem}
.docs .pages{flex-direction:column;flex-wrap:nowrap;gap:.4rem;position:sticky;top:1rem;align-self:start;padding-top:.5rem}
}
output{font-weight:700;font-size:1.2rem}
@media(max-width:48rem){
thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
tr,td,tbody th{display:block}
tr{padding:.6rem 0;border-top:1px solid var(--line)}
td,tbody th{border:0;padding:.1rem 0;overflow-wrap:anywhere}
td:empty{display:none}
td[data-label]{display:flow-root;padding-left:9rem}
td[data-label]::before{content:attr(data-label);color:var(--soft);float:left;width:8.5rem;margin-left:-9rem}
.pairs tr{display:flex;justify-content:space-between;gap:1rem}
header{column-gap:.6rem}
.n{text-align:left;white-space:normal}
}`;

// The policy below allows exactly this text, so no template may add even a space to it.
const styleElement = new Html(`<style>${style}</style>`);

/** The content security policy of these pages: allows their own style, and forms that lead back here. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Returns a whole page. `root` is the path of the gateway's root as the browser sees it, ending in a slash. Without `speech` it is in English only. */
export function page(options: { title: string; description: string; root: string; content: Html; speech?: Speech }): string {
  const { title, description, root, content, speech } = options;
  const language = speech?.language ?? 'en';
  const t = textsOf(language);
  const suffix = speech?.suffix ?? '';
  return html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <meta name="description" content="${description}" />
        ${styleElement}
      </head>
      <body>
        <header>
          <a class="brand" href="${root}models${suffix}">Tollgate</a><a href="${root}models${suffix}">${t.models}</a
          ><a href="${root}docs">${t.docs}</a
          ><a href="${root}console/">${t.console}</a>${speech === undefined ? '' : otherLanguage(speech, t)}
        </header>
        <main>${content}</main>
        <footer>${t.footer}</footer>
      </body>
    </html> `.text;
}

function otherLanguage({ language, otherHref }: Speech, t: Texts): Html {
  const other = languages.find((each) => each !== language)!;
  return html`<a class="other" rel="nofollow" lang="${other}" hreflang="${other}" href="${otherHref}">${t.otherLanguage}</a>`;
}
