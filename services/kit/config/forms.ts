// The forms of settings: addresses to listen on, email addresses and files. A mistake is found while the settings are parsed, and so reported with all others.
import { accessSync, constants } from 'node:fs';
import { isIP } from 'node:net';
import type { Setting } from './settings.js';

const portMax = 65_535;
const emailCharsMax = 254;

/** Returns the text of `host:port`. Throws an Error whose message completes "NAME …". */
export function hostAndPort(value: string): string {
  const [, port] = /^(?:\[[0-9A-Fa-f:.%\w]+\]|[^\s:/[\]]+):(\d{1,5})$/.exec(value) ?? [];
  if (port === undefined || Number(port) > portMax) throw new Error('must be host:port, such as 127.0.0.1:9464');
  return value;
}

/** Returns the text of `host:port` or `unix:/path`. Throws an Error whose message completes "NAME …". */
export function listenAddress(value: string): string {
  if (/^unix:./.test(value)) return value;
  try {
    return hostAndPort(value);
  } catch {
    throw new Error('must be host:port, such as 127.0.0.1:7103, or unix:/path');
  }
}

/** Returns the path. Throws if the file cannot be read. */
export function fileOf(text: string): string {
  try {
    accessSync(text, constants.R_OK);
  } catch {
    throw new Error('must be the path of a file that this process can read');
  }
  return text;
}

/** Returns a setting for a text that `parse` checks and that may be absent. */
export function optionalForm(
  env: string,
  description: string,
  parse: (value: string) => string,
  options: { secret?: boolean } = {},
): Setting<string | undefined> {
  return { env, description, ...options, default: undefined, parse };
}

/** Returns a setting for a secret that is sent in an HTTP header and may be absent. White space around it, such as the line break at the end of a file, is removed. */
export function headerSecret(env: string, description: string): Setting<string | undefined> {
  const parse = (value: string): string | undefined => {
    const secret = value.trim();
    if (!/^[\x21-\x7e]*$/.test(secret))
      throw new Error('must be printable ASCII characters without spaces or line breaks, because it is sent in an HTTP header');
    return secret === '' ? undefined : secret;
  };
  return { env, description, secret: true, default: undefined, parse };
}

/** Reports whether a certificate can name this host: a DNS name, of which the first label may be `*`, or an IP address. */
export function isHost(text: string): boolean {
  return isIP(text) !== 0 || (text.length <= 253 && /^(\*\.)?[\w-]{1,63}(\.[\w-]{1,63})*$/.test(text));
}

/** Reports whether a text looks like an email address. */
export function isEmailAddress(text: string): boolean {
  return text.length <= emailCharsMax && /^[^\s@<>\p{Cc}]+@[^\s@<>\p{Cc}]+$/u.test(text);
}
