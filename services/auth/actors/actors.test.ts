// Signing keys and actor tokens: what services can verify, and how keys are rotated.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { randomBytes } from 'node:crypto';
import { ManualClock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Database } from '#kit/db/open.js';
import { ActorVerifier, actorTokenSecondsMax } from '#kit/rpc/actor-token.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { createTestDatabase, testEngines } from '#kit/testing/database.js';
import { collectGarbage } from '#kit/testing/garbage.js';
import { silentLog as log } from '#kit/testing/log.js';
import { failureOf } from '#kit/testing/waiting.js';
import { Account } from '#proto/auth/v1/auth.js';
import { type Membership, Role, User } from '#proto/auth/v1/users.js';
import { migrations } from '../migrations/index.js';
import { type Acting, ActorTokens, tokenLifeMs } from './actor-tokens.js';
import { SigningKeyStore } from './signing-key-store.js';
import { publishedBeforeUseMs, SigningKeys } from './signing-keys.js';

const lifeMs = 86_400_000;

describe.each(testEngines)('actor tokens and signing keys on %s', (engine) => {
  let db: Database;
  let drop: () => Promise<void>;
  let clock: ManualClock;
  const secret = randomBytes(32);
  const replica = async (key = secret): Promise<{ keys: SigningKeys; tokens: ActorTokens }> => {
    const keys = new SigningKeys({ store: new SigningKeyStore(db), box: new SecretBox(fixedSecretKeys(key)), clock, log, lifeMs });
    await keys.refresh();
    return { keys, tokens: new ActorTokens(keys, clock) };
  };
  const acting = (fields: Partial<Acting> = {}): Acting => ({
    user: User.fromPartial({ id: 'user_1', email: 'ada@example.com' }),
    sessionId: 'sess_1',
    memberships: [],
    accountId: '',
    clientAddress: '192.0.2.1',
    caller: 'gateway',
    ...fields,
  });
  const verifierOf = (keys: SigningKeys): ActorVerifier => {
    const verifier = new ActorVerifier(clock);
    verifier.setKeys(keys.published());
    return verifier;
  };

  beforeEach(async () => {
    ({ db, drop } = await createTestDatabase(engine));
    await migrate(db, migrations);
    clock = new ManualClock();
  });
  afterEach(() => drop());

  it('prove to every service for which user a caller acts', async () => {
    const { keys, tokens } = await replica();
    const memberships: Membership[] = [{ account: Account.fromPartial({ id: 'acct_1' }), role: Role.ROLE_BILLING, projectRoles: [] }];
    const { token, expiresAtMs } = await tokens.sign(acting({ memberships }));
    expect(Number(expiresAtMs)).toBeGreaterThan(clock.nowMs());
    expect(Number(expiresAtMs)).toBeLessThanOrEqual(clock.nowMs() + tokenLifeMs);
    expect(await verifierOf(keys).verify(token, 'gateway')).toEqual({
      userId: 'user_1',
      sessionId: 'sess_1',
      email: 'ada@example.com',
      isOperator: false,
      roles: new Map([['acct_1', 'billing']]),
      projectRoles: new Map(),
      clientAddress: '192.0.2.1',
    });
  });

  it('name the roles of operators, too, because some rights are those of members only', async () => {
    const { keys, tokens } = await replica();
    const memberships: Membership[] = [{ account: Account.fromPartial({ id: 'acct_1' }), role: Role.ROLE_OWNER, projectRoles: [] }];
    const { user } = acting();
    const { token } = await tokens.sign(acting({ user: { ...user, isOperator: true }, memberships }));
    expect(await verifierOf(keys).verify(token, 'gateway')).toMatchObject({ isOperator: true, roles: new Map([['acct_1', 'owner']]) });
  });

  it('stay small however many accounts the user has, and always name the role in the account of the request', async () => {
    const { keys, tokens } = await replica();
    const memberships = Array.from({ length: 500 }, (_, index) => ({
      account: Account.fromPartial({ id: `acct_${String(index).padStart(32, '0')}` }),
      role: Role.ROLE_VIEWER,
      projectRoles: [],
    }));
    const accountId = memberships.at(-1)!.account.id;
    const { token } = await tokens.sign(acting({ memberships, accountId }));
    expect(token.length).toBeLessThan(6000);
    const { roles } = await verifierOf(keys).verify(token, 'gateway');
    expect(roles.size).toBe(50);
    expect(roles.get(accountId)).toBe('viewer');
  });

  it('are reused for half their life, unless their claims would differ', async () => {
    const { tokens } = await replica();
    const first = await tokens.sign(acting());
    expect(await tokens.sign(acting())).toEqual(first);
    expect(await tokens.sign(acting({ caller: 'metering' }))).not.toEqual(first);
    const user = User.fromPartial({ id: 'user_1', email: 'ada@example.com', isOperator: true });
    expect(await tokens.sign(acting({ user }))).not.toEqual(first);
    clock.advance(tokenLifeMs / 2);
    expect(await tokens.sign(acting())).not.toEqual(first);
  });

  it('share one signing key among replicas that start together', async () => {
    const [one, two] = await Promise.all([replica(), replica()]);
    expect(one.keys.published()).toHaveLength(1);
    expect(two.keys.published()).toEqual(one.keys.published());
    const { token } = await two.tokens.sign(acting());
    expect(await verifierOf(one.keys).verify(token, 'gateway')).toMatchObject({ userId: 'user_1' });
  });

  it('publish the next key before it signs, and the previous one until its tokens have expired', async () => {
    const { keys, tokens } = await replica();
    const first = keys.published();
    await keys.refresh();
    expect(keys.published()).toBe(first);
    const before = keys.current().kid;
    clock.advance(lifeMs);
    await keys.refresh();
    expect([keys.published().length, keys.current().kid]).toEqual([2, before]);
    const last = await tokens.sign(acting());

    clock.advance(publishedBeforeUseMs);
    await keys.refresh();
    expect(keys.current().kid).not.toBe(before);
    const next = await tokens.sign(acting());
    const verifier = verifierOf(keys);
    for (const { token } of [last, next]) expect(await verifier.verify(token, 'gateway')).toMatchObject({ userId: 'user_1' });

    clock.advance(600_000);
    await keys.refresh();
    expect(keys.published().map(({ kid }) => kid)).toEqual([keys.current().kid]);
  });

  it('do not keep a private key in memory once its tokens have expired', async () => {
    const { keys } = await replica();
    const first = new WeakRef(keys.current().privateKey);
    clock.advance(lifeMs);
    await keys.refresh();
    clock.advance(publishedBeforeUseMs + actorTokenSecondsMax * 1000 + 60_000);
    await keys.refresh();
    await collectGarbage();
    expect(first.deref()).toBeUndefined();
  });

  it('keep private keys sealed in the database, and report when they cannot be opened', async () => {
    await replica();
    const [row] = await db.knex('signing_key').select('sealed_private_key');
    expect(String(row['sealed_private_key'])).not.toContain('PRIVATE KEY');
    const error = await failureOf(replica(randomBytes(32)));
    expect(error).toMatchObject({ reason: 'failed_precondition' });
    expect(error.message).toContain('secret key file');
  });
});
