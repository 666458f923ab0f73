// Servers on loopback that receive what Tollgate sends: mail over SMTP, and webhook requests.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { SMTPServer } from 'smtp-server';

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
      let raw = '';
      try {
        for await (const chunk of stream) raw += String(chunk);
      } catch {
        // The sender was killed in the middle of the mail.
        return;
      }
      mails.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw });
      done(null, 'queued as 7');
    },
  });
  server.on('error', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.server.address() as AddressInfo;
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
  answer: (request: TakenRequest, response: ServerResponse) => void;
  stop(): Promise<void>;
}

/** Starts a server that responds with 200 by default. */
export async function startHttpReceiver(): Promise<HttpReceiver> {
  const receiver = {
    url: '',
    requests: [] as TakenRequest[],
    answer: (_request: TakenRequest, response: ServerResponse): void => void response.end('thanks'),
    stop: async (): Promise<void> => undefined,
  };
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const taken = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    receiver.requests.push(taken);
    receiver.answer(taken, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  receiver.stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return receiver;
}
