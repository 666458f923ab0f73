// Sends plain text mail, one at a time for each recipient, and says what the mail server said.
import { readFileSync } from 'node:fs';
import { createTransport } from 'nodemailer';
import { ConfigError } from '../config/settings.js';
import { type MailConfig, type MailServer, mailServerOf } from './settings.js';

/** A mail to one recipient. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text; links stand in it as they are. */
  readonly text: string;
  /** Names the mail, so that one that is sent again can be known; without angle brackets. */
  readonly id: string;
}

/** A mail that was not taken. Its message is the mail server's own words, or says how it could not be reached; it names neither secret nor place. */
export class MailFailure extends Error {
  override readonly name = 'MailFailure';

  constructor(
    message: string,
    /** It would be refused again, as for a recipient that does not exist. */
    readonly isFinal: boolean,
    options: ErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** Sends mail. */
export interface Mailer {
  /** What the server said when it took the mail. Raises MailFailure. */
  send(mail: Mail): Promise<string>;
  close(): void;
}

/** Longest time that one mail takes, all steps together. */
export const mailTimeoutMs = 25_000;
const stepTimeoutMs = 10_000;
const wordsCharsMax = 300;

/** The mailer of these settings; undefined when no server is named. Raises ConfigError. */
export function createMailer(config: MailConfig): Mailer | undefined {
  const server = mailServerOf(config);
  return server === undefined ? undefined : mailerOf(server, config.ca === undefined ? undefined : authority(config.ca));
}

function authority(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError([`The file of TOLLGATE_SMTP_CA cannot be read: ${(error as Error).message}`]);
  }
}

function mailerOf(server: MailServer, ca: string | undefined): Mailer {
  const { host, port, user, password, from, isTlsFromStart, isStartTlsRequired, isPlain } = server;
  const transport = createTransport({
    host,
    port,
    secure: isTlsFromStart,
    requireTLS: isStartTlsRequired,
    ignoreTLS: isPlain,
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    ...(ca === undefined ? {} : { tls: { ca } }),
    connectionTimeout: stepTimeoutMs,
    greetingTimeout: stepTimeoutMs,
    socketTimeout: stepTimeoutMs,
    dnsTimeout: stepTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send({ to, subject, text, id }) {
      let timer: NodeJS.Timeout | undefined;
      const tooLate = new Promise<never>((_resolve, reject) => {
        timer = setTimeout(
          () => reject(new MailFailure(`the mail server did not take the mail within ${mailTimeoutMs / 1000} s`, false)),
          mailTimeoutMs,
        );
      });
      try {
        const sending = transport.sendMail({
          from,
          to: { name: '', address: to },
          subject,
          text,
          messageId: `<${id}@tollgate>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
        // Once it is given up, nobody looks at how it ends.
        sending.catch(() => {});
        return wordsOf((await Promise.race([sending, tooLate])).response);
      } catch (error) {
        throw error instanceof MailFailure ? error : failureOf(error, server);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => transport.close(),
  };
}

/** What nodemailer tells of an error (https://nodemailer.com/usage#errors). */
interface SmtpError {
  readonly code?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly message?: string;
}

function failureOf(error: unknown, { host, password }: MailServer): MailFailure {
  const { code = '', responseCode = 0, response, message = '' } = error as SmtpError;
  const said = wordsOf(withoutPlaces(response ?? message, [host, password ?? '']));
  if (code === 'EAUTH') return new MailFailure(`the mail server refused the sign-in: ${said}`, false, { cause: error });
  if (code === 'EENVELOPE' || code === 'EMESSAGE') {
    // A reply of 5yz is final (RFC 5321, section 4.2.1).
    return new MailFailure(`the mail server refused the mail: ${said}`, responseCode >= 500, { cause: error });
  }
  if (code === 'ETLS') return new MailFailure(`no encrypted connection to the mail server: ${said}`, false, { cause: error });
  return new MailFailure(`the mail server cannot be used: ${said}`, false, { cause: error });
}

/** Those who read it asked for a mail; where the mail server is, is the operator's business. */
function withoutPlaces(text: string, hidden: readonly string[]): string {
  const shown = hidden.reduce((rest, each) => (each === '' ? rest : rest.replaceAll(each, '…')), text).replace(/…:\d+/g, '…');
  return shown.replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[?[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]+\]?(?::\d+)?/gi, '…');
}

function wordsOf(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, wordsCharsMax);
}
