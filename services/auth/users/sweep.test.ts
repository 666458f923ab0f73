import { randomBytes } from 'node:crypto';
import { afterEach, expect, it } from '@jest/globals';
import { dayMs } from '#kit/clock.js';
import { testEngines } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import { CreateUserRequest, Role } from '#proto/auth/v1/users.js';
import { newAccount, newClient, operator, password, startTestAuth, type TestAuth } from '../testing/auth.js';
import { TestMailer } from '../testing/test-mailer.js';
import { SecondFactorStore } from './second-factor/store.js';
import { FailureStore } from './store/failures.js';
import { MailBudget, mailWindowMs } from './store/mail-budget.js';
import { MemberStore } from './store/members.js';
import { ResetStore } from './store/resets.js';
import { SessionStore } from './store/sessions.js';
import { sweep } from './sweep.js';
import { failureWindowMs } from './passwords/throttle.js';

/** The tables, with the column by which each row ends, and how long after it. */
const tables = [
  ['session', 'expires_at_ms', 0],
  ['sign_in_link', 'expires_at_ms', 0],
  ['invitation', 'expires_at_ms', 0],
  ['password_reset', 'expires_at_ms', 0],
  ['used_challenge', 'expires_at_ms', 0],
  ['sign_in_failure', 'since_ms', failureWindowMs],
  ['mail_count', 'since_ms', mailWindowMs],
] as const;

let auth: TestAuth | undefined;
afterEach(() => auth?.stop());

it.each(testEngines)('removes what has expired, and nothing else, on %s', async (engine) => {
  auth = await startTestAuth(engine, { mailer: new TestMailer(), publicUrl: 'https://ai.example.com' });
  const { db, clock, service, users } = auth;
  const factors = new SecondFactorStore(db);
  const account = await newAccount(service);

  /** Creates a row in each table. */
  async function fill(email: string): Promise<void> {
    const { user } = await users.createUser(CreateUserRequest.fromPartial({ email, name: 'Ada', password }), operator);
    await users.signIn({ email, password, client: newClient() }, operator);
    await expect(users.signIn({ email, password: 'mistyped', client: newClient() }, operator)).rejects.toThrow();
    await users.createSignInLink({ email, sendMail: false, language: '' }, operator);
    const invitation = { accountId: account.id, email: `guest-of-${email}`, role: Role.ROLE_VIEWER, invitedByUserId: user!.id };
    await users.createInvitation({ ...invitation, projectRoles: [], language: '' }, operator);
    const resets = async () => (await db.knex('password_reset').select()).length;
    const before = await resets();
    await users.requestPasswordReset({ email, client: newClient(), language: '' }, operator);
    await eventually(async () => ((await resets()) > before ? true : undefined));
    await db.transaction((tx) => factors.takeChallenge(tx, randomBytes(32), clock.nowMs() + 1000));
  }
  const rows = () =>
    Promise.all(
      tables.map(async ([table, column, lifeMs]) => {
        const ends: Record<string, unknown>[] = await db.knex(table).select(column);
        return ends.map((row) => Number(row[column]) + lifeMs).sort((a, b) => a - b);
      }),
    );

  await fill('old@example.com');
  clock.advance(366 * dayMs);
  await fill('new@example.com');
  const before = await rows();
  const valid = before.map((ends) => ends.filter((endMs) => endMs > clock.nowMs()));
  for (const [index, [table]] of tables.entries())
    expect([table, before[index]!.length > valid[index]!.length, valid[index]!.length > 0]).toEqual([table, true, true]);
  await sweep({
    clock,
    factors,
    sessions: new SessionStore(db),
    failures: new FailureStore(db, failureWindowMs),
    members: new MemberStore(db),
    resets: new ResetStore(db),
    mailBudget: new MailBudget(db),
  });
  expect(await rows()).toEqual(valid);
});
