// Mail over real SMTP on loopback: accepted, rejected, unreachable, and either encrypted or not sent.
import { createServer, type Server, type Socket } from 'node:net';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { listen } from '../testing/local-server.js';
import { type ConfigError, parseSettings } from '../config/settings.js';
import { createTestAuthority, type TestAuthority } from '../testing/certificates.js';
import { createMailer, MailFailure, type Mailer, mailTimeoutMs } from './mailer.js';
import { mailCheck, type MailConfig, mailServerOf, mailSettings } from './settings.js';

const noMail = parseSettings(mailSettings, {});

const mail = {
  to: 'ada@example.com',
  subject: 'Your balance is low',
  text: 'Only $1 is left.\nhttps://console.example.com/billing\n',
  id: 'evt_1',
};

describe('mail', () => {
  let authority: TestAuthority;
  let folder: string;
  let servers: SMTPServer[] = [];
  let received: { raw: string; secure: boolean; user: string | undefined; to: string[] }[] = [];

  beforeAll(() => {
    authority = createTestAuthority();
    folder = mkdtempSync(join(tmpdir(), 'tollgate-mail-'));
  });
  afterEach(async () => {
    for (const server of servers) await new Promise<void>((resolve) => server.close(resolve));
    servers = [];
    received = [];
  });
  afterAll(() => {
    authority.drop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function smtp(options: SMTPServerOptions = {}): Promise<number> {
    const server = new SMTPServer({
      authOptional: true,
      disabledCommands: ['STARTTLS'],
      onAuth: ({ username, password }, _session, done) =>
        password === 'right' ? done(null, { user: username }) : done(new Error('5.7.8 no such user or password')),
      onRcptTo: ({ address }, _session, done) =>
        address.startsWith('nobody') ? done(Object.assign(new Error('5.1.1 no such mailbox'), { responseCode: 550 })) : done(),
      async onData(stream, session, done) {
        const raw = await text(stream);
        const { secure, user, envelope } = session;
        received.push({ raw, secure, user: user as unknown as string | undefined, to: envelope.rcptTo.map(({ address }) => address) });
        done(null, 'queued as 1');
      },
      ...options,
    });
    servers.push(server);
    server.on('error', () => undefined);
    return listen(server.server);
  }

  const mailer = (config: Partial<MailConfig>): Mailer => createMailer({ ...noMail, from: 'Tollgate <billing@example.com>', ...config })!;

  async function failure(config: Partial<MailConfig>, to = mail.to): Promise<MailFailure> {
    const error = await mailer(config)
      .send({ ...mail, to })
      .then(
        () => undefined,
        (reason: unknown) => reason,
      );
    expect(error).toBeInstanceOf(MailFailure);
    return error as MailFailure;
  }

  function caFile(): string {
    const { ca } = authority.issue('localhost');
    const path = join(folder, 'ca.pem');
    writeFileSync(path, ca);
    return path;
  }

  it('is plain text with a subject, a sender and its own message id', async () => {
    const port = await smtp();
    expect(await mailer({ host: '127.0.0.1', port }).send(mail)).toContain('queued as 1');
    expect(received).toHaveLength(1);
    const [{ raw, to }] = received as [(typeof received)[0]];
    expect(to).toEqual(['ada@example.com']);
    expect(raw).toContain('Subject: Your balance is low');
    expect(raw).toContain('Message-ID: <evt_1@tollgate>');
    expect(raw).toContain('From: Tollgate <billing@example.com>');
    expect(raw).toContain('https://console.example.com/billing');
    expect(raw).toMatch(/Content-Type: text\/plain/);
    expect(raw).not.toMatch(/html/i);
  });

  it('goes to one recipient, whatever the address contains', async () => {
    const port = await smtp();
    await mailer({ host: '127.0.0.1', port })
      .send({ ...mail, to: 'a@example.com,b@example.com', subject: 'One\r\nBcc: c@example.com' })
      .catch(() => undefined);
    expect(received.flatMap(({ to }) => to).filter((to) => /^(b|c)@/.test(to))).toEqual([]);
  });

  it('reports a rejected login without the password', async () => {
    const port = await smtp({ authMethods: ['PLAIN', 'LOGIN'], allowInsecureAuth: true });
    const { message, isFinal } = await failure({ url: `smtp://ada:very-wrong@127.0.0.1:${port}` });
    expect(message).toContain('rejected the sign-in');
    expect(message).toContain('no such user or password');
    expect(message).not.toContain('very-wrong');
    expect(isFinal).toBe(false);
    await mailer({ host: '127.0.0.1', port, user: 'ada', password: 'right' }).send(mail);
    expect(received[0]?.user).toBe('ada');
  });

  it('reports a permanently rejected recipient', async () => {
    const port = await smtp();
    const { message, isFinal } = await failure({ host: '127.0.0.1', port }, 'nobody@example.com');
    expect(message).toContain('no such mailbox');
    expect(isFinal).toBe(true);
  });

  it('reports that a server is down', async () => {
    const port = await smtp();
    await new Promise<void>((resolve) => servers.pop()!.close(resolve));
    const { message, isFinal } = await failure({ host: '127.0.0.1', port });
    expect(message).toContain('ECONNREFUSED');
    expect(message).not.toMatch(/127|\d{4}/);
    expect(isFinal).toBe(false);
  });

  it('reports that a server hangs up', async () => {
    const rude: Server = createServer((socket: Socket) => socket.end('421 try again later\r\n'));
    const { isFinal } = await failure({ host: '127.0.0.1', port: await listen(rude) });
    expect(isFinal).toBe(false);
    await new Promise((resolve) => rude.close(resolve));
  });

  it('waits for a server that accepts the content late, and reports when it has the content', async () => {
    const events: string[] = [];
    const port = await smtp({
      async onData(stream, _session, done) {
        await text(stream);
        events.push('received');
        // Longer than the commands before may take.
        setTimeout(() => done(null, 'queued as 1'), 11_000);
      },
    });
    const sent = mailer({ host: '127.0.0.1', port }).send(mail, () => events.push('content'));
    expect(await sent).toContain('queued as 1');
    expect(events).toEqual(['content', 'received']);
  }, 30_000);

  it('is not sent once it has timed out, since it is sent again, and leaves no connection open', async () => {
    const parts: string[] = [];
    const port = await smtp({
      onRcptTo: (_address, _session, done) => setTimeout(done, mailTimeoutMs + 1000),
      onData: (stream, _session, done) => {
        stream.on('data', (part: Buffer) => parts.push(part.toString())).on('end', () => done());
      },
    });
    const { message } = await failure({ host: '127.0.0.1', port });
    expect(message).toContain('did not accept the email within 25 s');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(servers.at(-1)!.connections.size).toBe(0);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    expect(parts).toEqual([]);
  }, 60_000);

  it('is encrypted from the start when the address is smtps, and verifies the certificate', async () => {
    const { cert, key } = authority.issue('localhost');
    const port = await smtp({ secure: true, cert, key });
    expect((await failure({ url: `smtps://127.0.0.1:${port}` })).message).toContain('certificate');
    expect(received).toEqual([]);
    await mailer({ url: `smtps://127.0.0.1:${port}`, ca: caFile() }).send(mail);
    expect(received).toMatchObject([{ secure: true }]);
  });

  it('is verified with the authority that the file has now, without a restart', async () => {
    const { cert, key } = authority.issue('localhost');
    const port = await smtp({ secure: true, cert, key });
    const path = caFile();
    const current = readFileSync(path);
    const another = createTestAuthority();
    writeFileSync(path, another.issue('localhost').ca);
    another.drop();
    const sender = mailer({ url: `smtps://127.0.0.1:${port}`, ca: path });
    expect(await sender.send(mail).catch((error: Error) => error.message)).toContain('certificate');
    writeFileSync(path, current);
    await sender.send(mail);
    expect(received).toMatchObject([{ secure: true }]);
  });

  it('is encrypted by STARTTLS when offered, and not sent when STARTTLS is required and missing', async () => {
    const { cert, key } = authority.issue('localhost');
    const port = await smtp({ cert, key, disabledCommands: [] });
    await mailer({ host: '127.0.0.1', port, ca: caFile() }).send(mail);
    expect(received).toMatchObject([{ secure: true }]);
    const plain = await smtp();
    expect((await failure({ host: '127.0.0.1', port: plain, security: 'starttls' })).message).toContain(
      'could not set up an encrypted connection',
    );
    expect(received).toHaveLength(1);
    await mailer({ host: '127.0.0.1', port: plain, security: 'none' }).send(mail);
    expect(received).toMatchObject([{ secure: true }, { secure: false }]);
  });
});

describe('the settings of mail', () => {
  const config = (changes: Partial<MailConfig>): MailConfig => ({ ...noMail, from: 'billing@example.com', ...changes });

  it('name no server unless one is set', () => {
    expect(mailServerOf(noMail)).toBeUndefined();
    expect(createMailer(noMail)).toBeUndefined();
  });

  it('are read from an address or one by one', () => {
    expect(mailServerOf(config({ url: 'smtps://ada%40example.com:p%3Aw@mail.example.com' }))).toMatchObject({
      host: 'mail.example.com',
      port: 465,
      user: 'ada@example.com',
      password: 'p:w',
      isTlsFromStart: true,
    });
    expect(mailServerOf(config({ host: 'mail.example.com', port: 465 }))).toMatchObject({ isTlsFromStart: true });
    expect(mailServerOf(config({ url: 'smtp://mail.example.com' }))).toMatchObject({
      port: 587,
      isTlsFromStart: false,
      isStartTlsRequired: false,
    });
  });

  it('are rejected with every fault', () => {
    const faults = (() => {
      try {
        return mailServerOf(config({ url: 'foo', host: 'x', from: undefined }));
      } catch (error) {
        return (error as ConfigError).faults;
      }
    })();
    expect(faults).toEqual([
      expect.stringContaining('cannot be combined'),
      expect.stringContaining('must have the form'),
      expect.stringContaining('is required'),
    ]);
  });

  it('are rejected if they have no effect, because no server is set', () => {
    const unused = { FROM: 'billing@example.com', USER: 'ada', PASSWORD: 'geheim', SECURITY: 'starttls', PORT: '25', CA: '/dev/null' };
    const env = Object.fromEntries(Object.entries(unused).map(([name, value]) => [`TOLLGATE_SMTP_${name}`, value]));
    const faults = mailCheck(env);
    const named = faults.map((fault) => /^(\S+) has no effect without a mail server; set TOLLGATE_SMTP_URL/.exec(fault)?.[1]);
    expect(named.toSorted()).toEqual(Object.keys(env).toSorted());
    expect(faults.join(' ')).not.toContain('geheim');
    expect(mailCheck({ ...env, TOLLGATE_SMTP_HOST: 'mail.example.com' })).toEqual([]);
    expect(mailCheck({})).toEqual([]);
  });

  it('never allow a password in clear text over a network', () => {
    expect(mailServerOf(config({ url: 'smtp://a:b@mail.example.com' }))).toMatchObject({ isStartTlsRequired: true });
    expect(mailServerOf(config({ url: 'smtp://a:b@127.0.0.1:25' }))).toMatchObject({ isStartTlsRequired: false });
  });

  it.each([
    [{ url: 'http://mail.example.com' }, 'TOLLGATE_SMTP_URL must have the form'],
    [{ url: 'smtp://a:geheim@[' }, 'TOLLGATE_SMTP_URL must have the form'],
    [{ url: 'smtp://a:geheim%@mail.example.com' }, 'TOLLGATE_SMTP_URL must have the form'],
    [{ url: 'smtp://a:geheim@mail.example.com', host: 'x' }, 'cannot be combined'],
    [{ url: 'smtp://mail.example.com', user: 'a', password: 'geheim' }, 'cannot be combined'],
    [{ host: 'x', from: undefined }, 'TOLLGATE_SMTP_FROM is required'],
    [{ from: 'foo' }, 'TOLLGATE_SMTP_FROM must be an email address'],
    [{ host: 'x', from: 'Tollgate <foo>' }, 'TOLLGATE_SMTP_FROM must be an email address'],
    [{ url: 'smtps://mail.example.com', security: 'none' }, 'requires TLS'],
    [{ host: 'x', ca: '/nowhere/ca.pem' }, 'TOLLGATE_SMTP_CA'],
  ] as [Partial<MailConfig>, string][])('are rejected: %j', (changes, message) => {
    const fault = (() => {
      try {
        return createMailer(config(changes));
      } catch (error) {
        return String(error);
      }
    })();
    expect(fault).toContain(message);
    expect(fault).not.toContain('geheim');
  });
});
