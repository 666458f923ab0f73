// Settings for sending mail, which is off unless a server is set.
import { fileOf, isEmailAddress, optionalForm } from '../config/forms.js';
import {
  assertUnchanged,
  checkTogether,
  ConfigError,
  integer,
  oneOf,
  optionalText,
  type Settings,
  type SettingsCheck,
  type Values,
} from '../config/settings.js';

/** Settings for mail, the same in every process that sends mail. */
export const mailSettings = {
  url: optionalText(
    'TOLLGATE_SMTP_URL',
    'mail server as smtp://user:password@host:port, or smtps:// for TLS from the start; if neither this nor TOLLGATE_SMTP_HOST is set, no mail is sent',
    { secret: true },
  ),
  host: optionalText('TOLLGATE_SMTP_HOST', 'mail server, instead of TOLLGATE_SMTP_URL'),
  port: integer('TOLLGATE_SMTP_PORT', 'port of TOLLGATE_SMTP_HOST; 465 means TLS from the start', { min: 1, max: 65_535, default: 587 }),
  user: optionalText('TOLLGATE_SMTP_USER', 'user at TOLLGATE_SMTP_HOST'),
  password: optionalText('TOLLGATE_SMTP_PASSWORD', 'password of that user', { secret: true }),
  from: optionalText('TOLLGATE_SMTP_FROM', 'sender of all emails, such as "Tollgate <billing@example.com>"; required with a mail server'),
  security: oneOf(
    'TOLLGATE_SMTP_SECURITY',
    'encryption of the connection to the mail server: auto (TLS if the address requires it, otherwise STARTTLS if the server offers it; a password is sent unencrypted only to loopback), starttls (required) or none',
    ['auto', 'starttls', 'none'],
    { default: 'auto' },
  ),
  ca: optionalForm(
    'TOLLGATE_SMTP_CA',
    'PEM file of the certificate authority of the mail server, if it is your own; read again for each email',
    fileOf,
  ),
} satisfies Settings;

const { ca: _ca, ...serverSettings } = mailSettings;

const serverCheck = checkTogether(serverSettings, (config) => void mailServerOf(config));
const unusedCheck = checkTogether(mailSettings, (config) => {
  if (config.url === undefined && config.host === undefined)
    assertUnchanged(mailSettings, config, 'a mail server', 'set TOLLGATE_SMTP_URL or TOLLGATE_SMTP_HOST');
});

/** Checks that the settings fit together. */
export const mailCheck: SettingsCheck = (env) => [...serverCheck(env), ...unusedCheck(env)];

/** The parsed settings. */
export type MailConfig = Values<typeof mailSettings>;

function isSender(text: string): boolean {
  const [, bracketed] = /^[^<>]*<([^<>]*)>$/.exec(text.trim()) ?? [];
  return isEmailAddress(bracketed ?? text.trim());
}

/** The address of the server and how to connect to it. */
export interface MailServer {
  readonly host: string;
  readonly port: number;
  readonly user: string | undefined;
  readonly password: string | undefined;
  readonly from: string;
  /** TLS from the first byte. */
  readonly isTlsFromStart: boolean;
  /** Nothing is sent unless STARTTLS succeeds. */
  readonly isStartTlsRequired: boolean;
  /** STARTTLS is not attempted. */
  readonly isPlain: boolean;
}

const portsOf: Readonly<Record<string, number>> = { 'smtp:': 587, 'smtps:': 465 };

/** Returns the server in the settings; undefined when there is none. Raises ConfigError with every fault, whose message contains no secret. */
export function mailServerOf(config: Omit<MailConfig, 'ca'>): MailServer | undefined {
  const { url, host, security } = config;
  const faults: string[] = [];
  if (config.from !== undefined && !isSender(config.from))
    faults.push(`TOLLGATE_SMTP_FROM must be an email address, such as "Tollgate <billing@example.com>" (it is "${config.from}")`);
  if (url === undefined && host === undefined) {
    if (faults.length > 0) throw new ConfigError(faults);
    return undefined;
  }
  if (url !== undefined && [host, config.user, config.password].some((each) => each !== undefined))
    faults.push(
      'TOLLGATE_SMTP_URL cannot be combined with TOLLGATE_SMTP_HOST, TOLLGATE_SMTP_USER and TOLLGATE_SMTP_PASSWORD; put all of it in the URL, or set TOLLGATE_SMTP_HOST instead',
    );
  const place =
    url === undefined
      ? { host: host!, port: config.port, user: config.user, password: config.password, isTlsFromStart: config.port === 465 }
      : placeOf(url);
  if (place === undefined)
    faults.push('TOLLGATE_SMTP_URL must have the form smtp://user:password@mail.example.com:587, with %40 for an @ in the user and so on');
  if (config.from === undefined) faults.push('TOLLGATE_SMTP_FROM is required with a mail server');
  if (security === 'none' && place?.isTlsFromStart === true)
    faults.push('TOLLGATE_SMTP_SECURITY is none, but the address of the mail server requires TLS');
  if (faults.length > 0 || place === undefined || config.from === undefined) throw new ConfigError(faults);
  const isSecretExposed = place.password !== undefined && !isLoopback(place.host);
  return {
    ...place,
    from: config.from,
    isStartTlsRequired: !place.isTlsFromStart && (security === 'starttls' || (security === 'auto' && isSecretExposed)),
    isPlain: security === 'none',
  };
}

function placeOf(text: string): Pick<MailServer, 'host' | 'port' | 'user' | 'password' | 'isTlsFromStart'> | undefined {
  const url = URL.parse(text);
  const port = url === null ? undefined : portsOf[url.protocol];
  if (url === null || port === undefined || url.hostname === '') return undefined;
  const part = (value: string): string | undefined => (value === '' ? undefined : decodeURIComponent(value));
  try {
    return {
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? port : Number(url.port),
      user: part(url.username),
      password: part(url.password),
      isTlsFromStart: url.protocol === 'smtps:',
    };
  } catch {
    return undefined;
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}
