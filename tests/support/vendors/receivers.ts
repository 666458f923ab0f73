// Servers on loopback that receive what Tollgate sends: mail over SMTP, and webhook requests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { SMTPServer } from 'smtp-server';
import { close, listen } from '#kit/testing/local-server.js';

/** A received mail. */
export interface TakenMail {
  readonly to: string[];
  readonly raw: string;
}

/** A mail server. */
export interface MailServer {
  readonly url: string;
  readonly mails: TakenMail[];
  /** Addresses that are rejected, temporarily or permanently. */
  readonly refused: Map<string, { code: number; words: string }>;
  stop(): Promise<void>;
}

/** Starts a mail server without TLS and authentication. */
export async function startMailServer(): Promise<MailServer> {
  const mails: TakenMail[] = [];
  const refused: MailServer['refused'] = new Map();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    onRcptTo: ({ address }, _session, done) => {
      const refusal = refused.get(address);
      done(refusal === undefined ? undefined : Object.assign(new Error(refusal.words), { responseCode: refusal.code }));
    },
    async onData(stream, session, done) {
      try {
        mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw: await text(stream) });
      } catch {
        // The sender was killed in the middle of the mail.
        return;
      }
      done(null, 'queued as 7');
    },
  });
  server.on('error', () => undefined);
  const port = await listen(server.server);
  return { url: `smtp://127.0.0.1:${port}`, mails, refused, stop: () => new Promise((resolve) => server.close(resolve)) };
}

/** A received request. */
export interface TakenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An HTTP server that records its requests. */
export interface HttpReceiver {
  readonly url: string;
  readonly requests: TakenRequest[];
  /** Sets how it responds from now on. */
  answer: (response: ServerResponse) => void;
  stop(): Promise<void>;
}

/** Starts a server that responds with 200 by default, and whose address ends in `path`. */
export async function startHttpReceiver(path = ''): Promise<HttpReceiver> {
  const receiver = {
    url: '',
    requests: [] as TakenRequest[],
    answer: (response: ServerResponse): void => void response.end('thanks'),
    stop: async (): Promise<void> => undefined,
  };
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    receiver.requests.push({ method, path, headers, body: await text(request) });
    receiver.answer(response);
  });
  receiver.url = `http://127.0.0.1:${await listen(server)}${path}`;
  receiver.stop = () => close(server);
  return receiver;
}
