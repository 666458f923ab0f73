// The rules for an upstream's base_url. Pure.
import { isIP } from 'node:net';
import { AppError } from '#client/errors/app-error.js';
import { addressFault } from '#kit/net/address-guard.js';

/** Maximum length of a base_url, in characters. */
const baseUrlCharsMax = 2048;

/**
 * Returns the url in its canonical form, without a trailing slash. Raises invalid_request unless it is http or https, has neither credentials
 * nor query nor fragment, and, if it names an address, one that connections are permitted to.
 */
export function parseBaseUrl(text: string, allowPrivateNetwork: boolean): string {
  const refuse = (why: string): AppError =>
    new AppError('invalid_request', `base_url ${why}.`, { details: { field: 'upstream.base_url' } });
  if (text.length > baseUrlCharsMax) throw refuse(`is longer than ${baseUrlCharsMax} characters`);
  const url = URL.parse(text);
  if (url === null) throw refuse('is not a url such as https://api.example.com/v1');
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw refuse('must begin with https:// or http://');
  if (url.username !== '' || url.password !== '') throw refuse('must not hold credentials; send the secret as secret');
  if (url.search !== '' || url.hash !== '' || text.includes('?') || text.includes('#'))
    throw refuse('must have neither a query nor a fragment');
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  const fault = isIP(literal) === 0 ? undefined : addressFault(literal, allowPrivateNetwork);
  if (fault !== undefined) throw refuse(`names an address that is refused: ${fault}`);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Adds the version to a vendor's base url from the environment, where operators may omit it as with the vendors' own libraries. */
export function withVersionSegment(baseUrl: string): string {
  return new URL(baseUrl).pathname === '/' ? `${new URL(baseUrl).origin}/v1` : baseUrl;
}
