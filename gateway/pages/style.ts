// The style of every public page, in the colours of the console. It is part of the page, so that a page is complete after one response.
import { createHash } from 'node:crypto';
import { Html } from './html.js';

/** The console's colours that these pages use: light and dark. A test compares them with console/src/styles.css. */
export const colours: Readonly<Record<string, readonly [light: string, dark: string]>> = {
  ground: ['#ffffff', '#121417'],
  panel: ['#f6f7f9', '#1a1d21'],
  hover: ['#eceff3', '#272c33'],
  line: ['#d9dee5', '#343a43'],
  edge: ['#7d8794', '#7f8a98'],
  text: ['#15191f', '#e8eaed'],
  soft: ['#56606d', '#a3adb9'],
  accent: ['#0b5cad', '#7ab8ff'],
  'on-accent': ['#ffffff', '#0c1622'],
  'accent-hover': ['#084a8d', '#a3cdff'],
  'accent-soft': ['#e4effb', '#16293d'],
  warn: ['#864700', '#f0b35f'],
};

const tokens = Object.entries(colours).map(([name, [light, dark]]) => `--${name}:light-dark(${light},${dark})`);

// The console's theme.js sets data-theme to the theme that the user chose there; without scripts the system's theme applies.
const style = `
:root{color-scheme:light dark;${tokens.join(';')};--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
:root[data-theme=light]{color-scheme:light}
:root[data-theme=dark]{color-scheme:dark}
:root[data-theme] .unscripted{display:none}
*{box-sizing:border-box}
html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--text);font:.9375rem/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans SC','PingFang SC','Microsoft YaHei',sans-serif}
main,footer,.bar{max-width:76rem;margin:0 auto;padding:0 1rem}
.top{border-bottom:1px solid var(--line)}
.bar{display:flex;gap:.35rem;align-items:center;min-height:3.5rem;flex-wrap:wrap}
.bar a{padding:.4rem .7rem;border-radius:.5rem;color:var(--text);text-decoration:none}
.bar a:hover{background:var(--hover)}
.bar [aria-current]{background:var(--accent-soft);color:var(--accent);font-weight:550}
.bar .brand{font-weight:700;font-size:1.1rem;display:flex;gap:.5rem;align-items:center;padding-left:0;margin-right:.5rem}
.bar .brand:hover{background:none}
.bar .other{margin-left:auto}
.bar .action,.action{background:var(--accent);color:var(--on-accent);border:1px solid var(--accent);border-radius:.5rem;padding:.4rem .9rem;text-decoration:none;display:inline-block;font-weight:550}
.bar .action:hover,.action:hover{background:var(--accent-hover)}
.action.second{background:none;color:var(--accent)}
.action.second:hover{background:var(--accent-soft)}
main{padding-top:1.5rem}
footer{color:var(--soft);padding-top:3rem;padding-bottom:2rem;font-size:.875rem}
a{color:var(--accent);text-underline-offset:2px}
h1{font-size:1.6rem;font-weight:650;line-height:1.25;margin:0 0 .5rem;overflow-wrap:anywhere}
h2{font-size:1.2rem;font-weight:620;margin:2.2rem 0 .5rem;line-height:1.35}
h3{font-size:1rem;font-weight:600;margin:1.4rem 0 .3rem}
p{margin:.5rem 0;max-width:46rem}
.soft{color:var(--soft)}
.warn{color:var(--warn)}
.lead{font-size:1.05rem;color:var(--soft)}
.skip:not(:focus){position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden;white-space:nowrap}
.skip{position:fixed;top:.5rem;left:.5rem;z-index:3;background:var(--accent);color:var(--on-accent);border-radius:.5rem;padding:.5rem .9rem;font-weight:550}
main:focus{outline:none}
.hidden{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden;white-space:nowrap}
form.panel{display:flex;flex-wrap:wrap;gap:.6rem .9rem;align-items:end;margin:1rem 0;padding:.9rem;background:var(--panel);border:1px solid var(--line);border-radius:.5rem}
label{display:flex;flex-direction:column;font-size:.8125rem;color:var(--soft);gap:.2rem}
label.check{flex-direction:row;align-items:center;gap:.4rem;color:var(--text);font-size:.875rem}
fieldset{border:0;margin:0;padding:0;display:flex;flex-wrap:wrap;gap:.35rem .9rem;width:100%;min-width:0}
legend{font-size:.8125rem;color:var(--soft);padding:0 0 .25rem}
input,select,button{font:inherit;color:var(--text);background:var(--ground);border:1px solid var(--edge);border-radius:.5rem;padding:.35rem .6rem;max-width:100%;min-height:2.4rem}
input[type=checkbox],input[type=radio]{min-height:0;accent-color:var(--accent);width:1rem;height:1rem;margin:0}
input[type=number]{width:9rem}
button{cursor:pointer;font-weight:550}
button:hover{background:var(--hover)}
button.first{background:var(--accent);border-color:var(--accent);color:var(--on-accent)}
button.first:hover{background:var(--accent-hover)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:3px}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums;font-size:.875rem}
caption{text-align:left;color:var(--soft);padding:.3rem 0}
th,td{text-align:left;vertical-align:top;padding:.55rem .75rem .55rem 0;border-top:1px solid var(--line)}
thead td{border-top:0}
thead th{border-top:0;color:var(--soft);font-weight:550;font-size:.8125rem}
tbody th{font-weight:550}
.n{text-align:right;white-space:nowrap}
code,pre{font:.92em/1.5 var(--mono);overflow-wrap:anywhere}
pre{background:var(--panel);border:1px solid var(--line);border-radius:.5rem;padding:.8rem;margin:.5rem 0;overflow-x:auto;white-space:pre-wrap;font-size:.8125rem}
pre code{font-size:1em}
.code{position:relative;margin:.5rem 0}
.code pre{margin:0}
.code button{position:absolute;top:.35rem;right:.35rem;min-height:0;padding:.15rem .55rem;font-size:.8125rem;border-color:var(--line)}
.code:has(button) pre{padding-right:5rem}
.tag{display:inline-block;border:1px solid var(--line);border-radius:1rem;padding:0 .55rem;font-size:.78rem;margin:0 .25rem .25rem 0;font-weight:400}
h2 .anchor,h3 .anchor{color:var(--soft);text-decoration:none;font-weight:400;visibility:hidden}
:is(h2,h3):hover .anchor,.anchor:focus-visible{visibility:visible}
@media(hover:none){h2 .anchor,h3 .anchor{visibility:visible}}
output{font-weight:700;font-size:1.2rem}
.tabs{display:flex;flex-wrap:wrap;gap:.4rem;width:auto;margin:.75rem 0 .5rem;min-width:0}
.tabs>label{flex-direction:row;align-items:center;color:var(--text);font-size:.875rem;border:1px solid var(--line);border-radius:.5rem;padding:.3rem .75rem;cursor:pointer;gap:.4rem}
.tabs>label:hover{background:var(--hover)}
.tabs>label:has(:checked){background:var(--accent-soft);border-color:var(--accent);color:var(--accent);font-weight:550}
.tabs>label:has(:focus-visible){outline:2px solid var(--accent);outline-offset:2px}
.tabs>label input{position:absolute;opacity:0;pointer-events:none}
.tabs>div{display:none;flex-basis:100%;min-width:0}
.tabs:has(>label:nth-of-type(1)>:checked)>div:nth-of-type(1),.tabs:has(>label:nth-of-type(2)>:checked)>div:nth-of-type(2),.tabs:has(>label:nth-of-type(3)>:checked)>div:nth-of-type(3),.tabs:has(>label:nth-of-type(4)>:checked)>div:nth-of-type(4),.tabs:has(>label:nth-of-type(5)>:checked)>div:nth-of-type(5),.tabs:has(>label:nth-of-type(6)>:checked)>div:nth-of-type(6){display:block}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(22rem,100%),1fr));gap:.9rem;margin:1rem 0;padding:0;list-style:none}
.cards>li{border:1px solid var(--line);border-radius:.5rem;padding:.9rem}
.cards a{font-weight:600}
.cards p{margin:.25rem 0 0;font-size:.875rem;color:var(--soft)}
.clients{columns:12rem;padding-left:1.2rem;line-height:1.9}
.hero{padding:2.5rem 0 1.5rem}
.hero h1{font-size:clamp(1.7rem,5vw,2.6rem);max-width:46rem}
.hero .lead{font-size:1.15rem;max-width:42rem}
.hero .actions{display:flex;flex-wrap:wrap;gap:.7rem;margin-top:1.4rem}
.figures{grid-template-columns:repeat(auto-fit,minmax(min(17rem,100%),1fr))}
.figures a{font-weight:400;font-size:.9rem}
.figures dd{margin:0;font-size:1.9rem;font-weight:650;font-variant-numeric:tabular-nums}
.figures>div{border:1px solid var(--line);border-radius:.5rem;padding:1rem 1.1rem;display:flex;flex-direction:column-reverse;justify-content:flex-end}
.toc ul{columns:16rem;padding-left:1.2rem;margin:.5rem 0 1rem;line-height:1.75}
.docs article{min-width:0}
.docs table{margin:.75rem 0}
.docs h3{overflow-wrap:anywhere}
.docs article li{max-width:46rem}
.docs article .cards li{max-width:none}
.docs .pages{font-size:.9rem;margin-top:3rem;border-top:1px solid var(--line);padding-top:1rem}
.pages ul{list-style:none;margin:.2rem 0 1rem;padding:0}
.pages a{display:block;padding:.25rem .6rem;border-radius:.4rem;color:var(--text);text-decoration:none}
.pages a:hover{background:var(--hover)}
.pages [aria-current]{background:var(--accent-soft);color:var(--accent);font-weight:550}
.pages p{margin:0;padding:0 .6rem;font-size:.8125rem;font-weight:600;color:var(--soft)}
.search{position:relative;margin-bottom:1rem}
.search form{display:flex;gap:.4rem}
.search input{flex:1;min-width:0}
.found ol{list-style:none;margin:0;padding:0}
.found li{padding:.6rem 0;border-top:1px solid var(--line);overflow-wrap:anywhere}
.found li:first-child{border-top:0}
.found li p{margin:.15rem 0 0;font-size:.875rem;color:var(--soft)}
.found mark{background:none;color:var(--text);font-weight:650}
.search .found{background:var(--ground);border:1px solid var(--line);border-radius:.5rem;position:absolute;z-index:2;left:0;width:min(30rem,calc(100vw - 2rem));max-height:70vh;overflow:auto;padding:.3rem .9rem;box-shadow:0 8px 28px rgb(0 0 0/.16)}
.search .found:empty{display:none}
.next{display:flex;flex-wrap:wrap;gap:.9rem;justify-content:space-between;margin-top:3rem;border-top:1px solid var(--line);padding-top:1rem}
.next a{text-decoration:none}
.next span{display:block;font-size:.8125rem;color:var(--soft)}
.next [rel=next]{margin-left:auto;text-align:right}
.compare{background:var(--ground);padding:.6rem 0;display:flex;gap:.8rem;align-items:center}
body:has([name=compare]:checked) .compare{position:sticky;bottom:0;border-top:1px solid var(--line)}
.pairs{max-width:34rem}
th .soft{font-weight:400}
.id{display:flex;flex-wrap:wrap;gap:0 .75rem;align-items:center;margin-bottom:.15rem;font-weight:400}
@media(min-width:48.01rem){.docs td code{overflow-wrap:break-word}.docs table:has(th:nth-child(6)) code{font-size:.75rem}}
@media(min-width:62rem){
.models,.compared{table-layout:fixed}
.models thead th{width:10%}
.models thead th:first-child{width:36%}
.models thead th:last-child{width:14%}
.compared thead td{width:11rem}
#calculation table{max-width:46rem}
.downloads{float:right;margin-top:-2rem}
.docs{display:grid;grid-template:'search article' auto 'pages article' 1fr/14rem minmax(0,1fr);column-gap:2.5rem}
.docs .search{grid-area:search}
.docs article{grid-area:article}
.docs .pages{grid-area:pages;position:sticky;top:1rem;align-self:start;max-height:calc(100vh - 2rem);overflow-y:auto;margin:0;border:0;padding:0}
.docs .menu{display:none}
}
@media(max-width:48rem){
.code:has(button) pre{padding:2.3rem .8rem .8rem}
form.panel>label,form.panel>label>:is(input,select){width:100%}
thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
tr,td,tbody th{display:block}
tr{padding:.6rem 0;border-top:1px solid var(--line)}
td,tbody th{border:0;padding:.1rem 0;overflow-wrap:anywhere}
td:empty{display:none}
td[data-label]{display:flow-root;padding-left:9rem}
td[data-label]::before{content:attr(data-label);color:var(--soft);float:left;width:8.5rem;margin-left:-9rem}
.pairs tr{display:flex;justify-content:space-between;gap:1rem}
.bar{row-gap:0;padding-top:.4rem;padding-bottom:.4rem}
.bar a{padding:.4rem .45rem}
.bar:has(.other) .brand span{position:absolute;clip-path:inset(50%)}
.n{text-align:left;white-space:normal}
}`;

/** The style element. The policy allows exactly this text, so no template may add even a space to it. */
export const styleElement = new Html(`<style>${style}</style>`);

/** The content security policy of these pages: their own style, this gateway's own scripts and pictures, and forms that lead back here. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');
