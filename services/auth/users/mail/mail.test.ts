// Invitations by mail: sent, refused, tried again, bounded, and never in the way of the invitation itself.
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MailFailure } from '#kit/mail/mailer.js';
import { testEngines } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import { NotificationState } from '#proto/auth/v1/notifications.js';
import type { Account } from '#proto/auth/v1/auth.js';
import {
  CreateInvitationRequest,
  type CreateInvitationResponse,
  CreateUserRequest,
  type Invitation,
  Role,
  SignedIn,
  type User,
} from '#proto/auth/v1/users.js';
import { actingAs, newAccount, operator, startTestAuth, type TestAuth } from '../../testing/auth.js';
import { TestMailer } from '../../testing/test-mailer.js';
import { mailsPerHourMax as invitationsMax } from '../rpcs/create-invitation.js';
import { mailWindowMs } from '../store/mail-budget.js';
import { mailsPerHourMax } from './user-mails.js';

const {
  NOTIFICATION_STATE_UNSPECIFIED: none,
  NOTIFICATION_STATE_PENDING: pending,
  NOTIFICATION_STATE_DELIVERED: sent,
  NOTIFICATION_STATE_FAILED: failed,
  NOTIFICATION_STATE_WITHDRAWN: withdrawn,
} = NotificationState;

// A hundred changes one after another take their time on a busy machine.
jest.setTimeout(60_000);

describe.each(testEngines)('invitations by mail on %s', (engine) => {
  let auth: TestAuth;
  let host: User;
  const mailer = new TestMailer();
  beforeAll(async () => {
    auth = await startTestAuth(engine, { mailer, publicUrl: 'https://ai.example.com/tollgate' });
    host = await addPerson(auth, 'host@example.com', 'Ada <host@evil.example>');
  });
  afterEach(() => {
    mailer.mails = [];
    mailer.failures = [];
    auth.clock.advance(mailWindowMs);
  });
  afterAll(() => auth.stop());

  const addPerson = async (to: TestAuth, email: string, name: string): Promise<User> =>
    (await to.users.createUser(CreateUserRequest.fromPartial({ email, name }), operator)).user!;
  const invite = (account: Account, email: string, by = host): Promise<CreateInvitationResponse> =>
    auth.users.createInvitation(
      { accountId: account.id, email, role: Role.ROLE_VIEWER, invitedByUserId: by.id, projectRoles: [], language: '' },
      operator,
    );
  const standing = async ({ id: accountId }: Account, email: string): Promise<Invitation | undefined> =>
    (await auth.users.listInvitations({ accountId }, operator)).invitations.find((each) => each.email === email);
  const until = async (account: Account, email: string, state: NotificationState): Promise<Invitation> => {
    for (let tries = 0; tries < 300; tries += 1) {
      const found = await standing(account, email);
      if (found?.mailState === state) return found;
      // Further attempts are due by this clock.
      auth.clock.advance(60_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`The mail to ${email} is not ${NotificationState[state]}.`);
  };

  it('send the link only to the invited address', async () => {
    const account = await newAccount(auth.service, 'Acme');
    const { token, invitation } = await invite(account, 'Guest@example.com');
    expect(invitation).toMatchObject({ mailState: sent, mailError: '' });
    expect(mailer.mails).toMatchObject([
      { to: 'guest@example.com', subject: 'Invitation to Acme', id: invitation!.id.replace('inv_', 'ntf_') },
    ]);
    expect(mailer.mails[0]!.text).toContain(`https://ai.example.com/tollgate/console/invitation#${token}\n`);
    expect(mailer.mails[0]!.text).toContain('Ada host evil·example (host@example.com) invited you');
    expect(await standing(account, 'guest@example.com')).toMatchObject({ mailState: sent });
    expect(await auth.users.getInvitation({ token }, operator)).toMatchObject({ invitation: { email: 'guest@example.com' } });
  });

  it('tell a user without a password to sign in first', async () => {
    const account = await newAccount(auth.service, 'Known');
    await addPerson(auth, 'known@example.com', 'Grace');
    await invite(account, 'known@example.com');
    expect(mailer.mails).toMatchObject([{ text: expect.stringContaining('You already have an account, but no password: sign in first') }]);
  });

  it('are retried when the mail server is unavailable, while the invitation can be accepted', async () => {
    const account = await newAccount(auth.service, 'Patient');
    mailer.failures = [new MailFailure('the mail server cannot be used: …', false), new MailFailure('454 not now', false)];
    const { invitation, token } = await invite(account, 'later@example.com');
    expect(invitation).toMatchObject({ mailState: pending, mailError: 'the mail server cannot be used: …' });
    await auth.users.getInvitation({ token }, operator);
    await until(account, 'later@example.com', sent);
    expect(mailer.mails).toMatchObject([{ to: 'later@example.com', id: invitation!.id.replace('inv_', 'ntf_') }]);
  });

  it('are given up after six attempts, and at once when the address is rejected permanently; the invitation stays', async () => {
    const account = await newAccount(auth.service, 'Unlucky');
    mailer.failures = Array.from({ length: 6 }, () => new MailFailure('454 not now', false));
    await invite(account, 'never@example.com');
    expect(await until(account, 'never@example.com', failed)).toMatchObject({ mailError: '454 not now' });
    mailer.failures = [new MailFailure('the mail server refused the mail: no such mailbox', true)];
    const { invitation, token } = await invite(account, 'nobody@example.com');
    expect(invitation).toMatchObject({ mailState: failed, mailError: expect.stringContaining('no such mailbox') });
    await auth.users.getInvitation({ token }, operator);
    expect(mailer.mails).toEqual([]);
  });

  it('are not sent once the invitation was revoked', async () => {
    const account = await newAccount(auth.service, 'Regret');
    mailer.failures = [new MailFailure('454 not now', false)];
    const { invitation } = await invite(account, 'regret@example.com');
    await auth.users.revokeInvitation({ accountId: account.id, invitationId: invitation!.id }, operator);
    auth.clock.advance(60_000);
    await eventually(async () => {
      const [row] = (await auth.db.knex('notification').where({ destination: 'regret@example.com' })) as Record<string, unknown>[];
      return Number(row!['state']) === withdrawn ? true : undefined;
    });
    expect(mailer.mails).toEqual([]);
  });

  it('do not make the inviter wait for a mail server that hangs, and are sent when it has failed or the claim expires', async () => {
    const [slow, orphan] = [await newAccount(auth.service, 'Slow'), await newAccount(auth.service, 'Orphan')];
    let hangUp: (error: Error) => void = () => undefined;
    mailer.failures = [new Promise<never>((_, reject) => (hangUp = reject)), new Promise<never>(() => undefined)];
    const beganAtMs = Date.now();
    const slowly = invite(slow, 'slow@example.com');
    for (let tries = 0; mailer.failures.length > 1 && tries < 300; tries += 1) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const { invitation } of await Promise.all([slowly, invite(orphan, 'orphan@example.com')])) {
      expect(invitation).toMatchObject({ mailState: pending });
    }
    expect(Date.now() - beganAtMs).toBeLessThan(9000);
    expect(await standing(slow, 'slow@example.com')).toMatchObject({ mailState: pending });
    hangUp(new MailFailure('too late', false));
    await until(slow, 'slow@example.com', sent);
    await until(orphan, 'orphan@example.com', sent);
    expect(mailer.mails.filter(({ to }) => to === 'orphan@example.com')).toHaveLength(1);
  });

  it('are limited per hour for an account, an address and a user, even when requested concurrently', async () => {
    const account = await newAccount(auth.service, 'Spammer');
    const answers = await Promise.all(
      Array.from({ length: invitationsMax.account + 5 }, (_, number) => invite(account, `victim${number}@example.com`)),
    );
    expect(mailer.mails).toHaveLength(invitationsMax.account);
    const refused = answers.filter(({ invitation }) => invitation!.mailState === failed);
    expect(refused).toHaveLength(5);
    expect(refused[0]).toMatchObject({ token: expect.any(String), invitation: { mailError: 'too many emails were sent within an hour' } });

    mailer.mails = [];
    auth.clock.advance(mailWindowMs);
    for (let number = 0; number < mailsPerHourMax.address + 2; number += 1)
      await invite(await newAccount(auth.service, `One of many ${number}`), 'bombed@example.com');
    expect(mailer.mails).toHaveLength(mailsPerHourMax.address);

    mailer.mails = [];
    auth.clock.advance(mailWindowMs);
    const accounts = [await newAccount(auth.service, 'One'), await newAccount(auth.service, 'Two')];
    for (let number = 0; number < invitationsMax.user + 4; number += 1) await invite(accounts[number % 2]!, `reader${number}@example.com`);
    expect(mailer.mails).toHaveLength(invitationsMax.user);
    mailer.mails = [];
    const other = await addPerson(auth, 'other@example.com', 'Other');
    await invite(accounts[0]!, 'more@example.com', other);
    expect(mailer.mails).toHaveLength(1);
  });

  it('do not count for the account when they are refused, as for an address that has received too many', async () => {
    for (let number = 0; number < mailsPerHourMax.address; number += 1)
      await invite(await newAccount(auth.service, `One of many ${number}`), 'popular@example.com');
    const account = await newAccount(auth.service, 'Insistent');
    for (let number = 0; number < invitationsMax.account; number += 1)
      expect((await invite(account, 'popular@example.com')).invitation).toMatchObject({ mailState: failed });
    expect((await invite(account, 'other@example.com')).invitation).toMatchObject({ mailState: sent });
  });

  it('do not count when the invitation is refused', async () => {
    const account = await newAccount(auth.service, 'Careful');
    const outsider = actingAs(SignedIn.fromPartial({ session: {}, user: await addPerson(auth, 'outsider@example.com', 'Outsider') }));
    const fields = { accountId: account.id, email: 'wanted@example.com', role: Role.ROLE_VIEWER };
    for (let number = 0; number < mailsPerHourMax.address; number += 1)
      await expect(auth.users.createInvitation(CreateInvitationRequest.fromPartial(fields), outsider)).rejects.toMatchObject({
        reason: 'role_not_permitted',
      });
    expect((await invite(account, 'wanted@example.com')).invitation).toMatchObject({ mailState: sent });
  });

  it('leave no token in the database or the log', async () => {
    const account = await newAccount(auth.service, 'Secret');
    mailer.failures = [new MailFailure('454 not now', false)];
    const { token } = await invite(account, 'secret@example.com');
    const waiting = (await auth.db.knex('notification').where({ destination: 'secret@example.com' })) as Record<string, unknown>[];
    expect(waiting).toMatchObject([{ sealed_content: expect.any(String) }]);
    expect(waiting[0]!['sealed_content']).not.toContain(token);
    await until(account, 'secret@example.com', sent);
    expect(await auth.db.knex('notification').whereNotNull('sealed_content').where({ destination: 'secret@example.com' })).toEqual([]);
    const rows = await Promise.all(['invitation', 'mail_count', 'notification'].map((table) => auth.db.knex(table).select()));
    const cells = rows.flat().flatMap((row: Record<string, unknown>) => Object.values(row));
    expect(cells.map((cell) => (Buffer.isBuffer(cell) ? cell.toString('latin1') : String(cell))).join('\n')).not.toContain(token);
    expect(auth.logLines.join('')).not.toContain(token);
    expect(auth.logLines.join('')).toContain('the mail server rejected an email');
  });

  it('are not sent if the console’s public address is not set', async () => {
    const homeless = await startTestAuth(engine, { mailer });
    try {
      expect(homeless.logLines.join('')).toContain('TOLLGATE_GATEWAY_PUBLIC_URL');
      const account = await newAccount(homeless.service);
      const by = await addPerson(homeless, 'host@example.com', 'Host');
      const { invitation } = await homeless.users.createInvitation(
        {
          accountId: account.id,
          email: 'guest@example.com',
          role: Role.ROLE_VIEWER,
          invitedByUserId: by.id,
          projectRoles: [],
          language: '',
        },
        operator,
      );
      expect(invitation).toMatchObject({ mailState: none });
      expect(mailer.mails).toEqual([]);
    } finally {
      await homeless.stop();
    }
  });
});
