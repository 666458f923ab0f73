// The rules for an upstream's base_url. Pure.
import { fieldFault } from '#client/errors/fault.js';
import { isIP } from 'node:net';
import { addressFault } from '#kit/net/address-guard.js';

/** Maximum length of a base_url, in characters. */
const baseUrlCharsMax = 2048;

/**
 * Returns the url in its canonical form, without a trailing slash. Raises invalid_request unless it is http or https, has neither credentials
 * nor query nor fragment, and, if it names an address, one that connections are permitted to.
 */
export function parseBaseUrl(text: string, allowPrivateNetwork: boolean): string {
  const field = 'upstream.base_url';
  if (text.length > baseUrlCharsMax) throw fieldFault(field, 'max_length', { max: baseUrlCharsMax });
  const url = URL.parse(text);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) throw fieldFault(field, 'http_url');
  if (url.username !== '' || url.password !== '') throw fieldFault(field, 'no_credentials');
  if (url.search !== '' || url.hash !== '' || text.includes('?') || text.includes('#')) throw fieldFault(field, 'no_query');
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(literal) !== 0 && addressFault(literal, allowPrivateNetwork) !== undefined)
    throw fieldFault(field, addressFault(literal, true) === undefined ? 'private_address' : 'refused_address', { address: literal });
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Adds the version to a vendor's base url from the environment, where operators may omit it as with the vendors' own libraries. */
export function withVersionSegment(baseUrl: string): string {
  return new URL(baseUrl).pathname === '/' ? `${new URL(baseUrl).origin}/v1` : baseUrl;
}
