// Sends plain text mail to one recipient at a time, and returns the mail server's response.
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import { ConfigError } from '../config/settings.js';
import { type MailConfig, type MailServer, mailServerOf } from './settings.js';
import { finding } from '#rules/errors/finding-sentences.js';

/** A mail to one recipient. */
export interface Mail {
  readonly to: string;
  readonly subject: string;
  /** Plain text; links are included as they are. */
  readonly text: string;
  /** The message id, so that a mail that is sent twice can be recognised; without angle brackets. */
  readonly id: string;
}

/**
 * A mail that was not accepted. Its message is the mail server's response, or says why the server could not be reached; it contains no
 * secret and no server address.
 */
export class MailFailure extends Error {
  override readonly name = 'MailFailure';

  constructor(
    message: string,
    /** Whether a retry would be rejected too, as for a recipient that does not exist. */
    readonly isFinal: boolean,
    options: ErrorOptions = {},
  ) {
    super(message, options);
  }
}

/** Sends mail. */
export interface Mailer {
  /**
   * Returns the server's response when it accepted the mail. Raises MailFailure. `onContent` runs when the content is being sent: from then on, the
   * server may deliver the mail, and its response can take `mailAcceptMs`.
   */
  send(mail: Mail, onContent?: () => void): Promise<string>;
}

/** The maximum time until the content of a mail is sent, all steps together. */
export const mailTimeoutMs = 25_000;
/**
 * The maximum time from then on until the server accepts the mail. It may check the mail, or deliver it, before it responds; a client that gives up earlier
 * sends the mail again (RFC 5321, section 4.5.3.2.6).
 */
export const mailAcceptMs = 10 * 60_000;
const stepTimeoutMs = 10_000;
const wordsCharsMax = 300;

/** Returns the mailer for these settings; undefined when no server is set. Raises ConfigError. */
export function createMailer(config: MailConfig): Mailer | undefined {
  const server = mailServerOf(config);
  return server === undefined ? undefined : mailerOf(server, config.ca === undefined ? () => undefined : authority(config.ca));
}

/** Returns a function that reads the file again and returns its content, or the previous content if it cannot be read. Raises ConfigError if it cannot be read now. */
function authority(path: string): () => string {
  let known: string;
  try {
    known = readFileSync(path, 'utf8');
  } catch (error) {
    throw new ConfigError([`The file of TOLLGATE_SMTP_CA cannot be read: ${(error as Error).message}`]);
  }
  return () => {
    try {
      known = readFileSync(path, 'utf8');
    } catch {
      // The file is being replaced.
    }
    return known;
  };
}

async function transportTo(server: MailServer, ca: string | undefined) {
  // Loaded only by processes that send mail.
  const { createTransport } = await import('nodemailer');
  const { host, port, user, password, isTlsFromStart, isStartTlsRequired, isPlain } = server;
  return createTransport({
    host,
    port,
    secure: isTlsFromStart,
    requireTLS: isStartTlsRequired,
    ignoreTLS: isPlain,
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    ...(ca === undefined ? {} : { tls: { ca } }),
    connectionTimeout: stepTimeoutMs,
    greetingTimeout: stepTimeoutMs,
    // Also applies after the content is sent. Before it, `mailTimeoutMs` is the limit.
    socketTimeout: mailAcceptMs,
    dnsTimeout: stepTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Its first part is read only once the server has accepted the envelope. */
async function* contentOf(content: AsyncIterable<unknown>, onContent: () => void) {
  onContent();
  yield* content;
}

function mailerOf(server: MailServer, readCa: () => string | undefined): Mailer {
  return {
    async send({ to, subject, text, id }, onContent) {
      // Closes the connection, so that the server does not get a mail that is sent again later.
      const deadline = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const endAfter = (ms: number): void => {
        clearTimeout(timer);
        timer = setTimeout(() => deadline.abort(new MailFailure(finding('email_timeout', { seconds: ms / 1000 }), false)), ms);
      };
      endAfter(mailTimeoutMs);
      try {
        const transport = await transportTo(server, readCa());
        transport.use('stream', ({ message }, done) => {
          const started = (): void => {
            endAfter(mailAcceptMs);
            onContent?.();
          };
          message.processFunc((content) => Readable.from(contentOf(content, started)));
          done();
        });
        const { response } = await transport.sendMail({
          from: server.from,
          to: { name: '', address: to },
          subject,
          text,
          messageId: `<${id}@tollgate>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
          signal: deadline.signal,
        });
        return wordsOf(response);
      } catch (error) {
        const reason: unknown = deadline.signal.reason;
        throw reason instanceof MailFailure ? reason : failureOf(error, server);
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** The fields of nodemailer's errors (https://nodemailer.com/usage#errors). */
interface SmtpError {
  readonly code?: string;
  readonly responseCode?: number;
  readonly response?: string;
  readonly message?: string;
}

function failureOf(error: unknown, { host, password }: MailServer): MailFailure {
  const { code = '', responseCode = 0, response, message = '' } = error as SmtpError;
  const detail = wordsOf(withoutAddresses(response ?? message, [host, password ?? '']));
  if (code === 'EAUTH') return new MailFailure(finding('email_sign_in', { detail }), false, { cause: error });
  if (code === 'EENVELOPE' || code === 'EMESSAGE') {
    // A reply of 5yz is final (RFC 5321, section 4.2.1).
    return new MailFailure(finding('email_rejected', { detail }), responseCode >= 500, { cause: error });
  }
  if (code === 'ETLS') return new MailFailure(finding('email_not_encrypted', { detail }), false, { cause: error });
  return new MailFailure(finding('email_unusable', { detail }), false, { cause: error });
}

/** Users read this message, so it must not show the address of the mail server. */
function withoutAddresses(text: string, hidden: readonly string[]): string {
  const shown = hidden.reduce((rest, each) => (each === '' ? rest : rest.replaceAll(each, '…')), text).replace(/…:\d+/g, '…');
  return shown.replace(/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|\[?[0-9a-f]*:[0-9a-f:]*:[0-9a-f:.]+\]?(?::\d+)?/gi, '…');
}

function wordsOf(text: string): string {
  return text
    .replace(/[\p{C}\s]+/gu, ' ')
    .trim()
    .slice(0, wordsCharsMax);
}
