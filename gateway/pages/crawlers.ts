// robots.txt and sitemap.xml. Pure.
import { escapeText } from './html.js';

/** Returns robots.txt: the console and the API have nothing to index. */
export function robotsTxt(site: string): string {
  // Any text can be in the Host header, and so in the address.
  const base = site.replace(/^https?:\/\/[^/]*/, '');
  const closed = ['console/api/', 'console/accounts/', 'console/operator/', 'v1/'];
  return `User-agent: *\n${closed.map((path) => `Disallow: ${base}/${path}\n`).join('')}\nSitemap: ${site}/sitemap.xml\n`;
}

/** Returns the sitemap of these paths below the root. */
export function sitemapXml(site: string, paths: readonly string[]): string {
  const urls = paths.map((path) => `<url><loc>${escapeText(`${site}/${path}`)}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n${urls.join('')}</urlset>\n`;
}
