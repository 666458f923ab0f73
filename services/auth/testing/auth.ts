// A running auth service with its own database, for tests.
import { randomBytes } from 'node:crypto';
import { ManualClock } from '#kit/clock.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { parseSettings } from '#kit/config/settings.js';
import { type Database, type Engine, openDatabase } from '#kit/db/open.js';
import { createLogger } from '#kit/log.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import { type CallContext, callContext } from '#client/call-context.js';
import type { CallerService } from '#proto/auth/v1/callers.js';
import type { NotificationService } from '#proto/auth/v1/notifications.js';
import type { Client, IdentityResponse, SignedIn, UserService } from '#proto/auth/v1/users.js';
import type { WebhookService } from '#proto/auth/v1/webhooks.js';
import type { Mailer } from '#kit/mail/mailer.js';
import { createTestDatabase } from '#kit/testing/database.js';
import { type Account, type AuthService, CreateAccountRequest, CreateKeyRequest, type DeepPartial, type Key } from '#proto/auth/v1/auth.js';
import { type AuthModule, authSettings, createAuth } from '../index.js';
import type { IdentityClaims } from '../users/oidc/identity-claims.js';
import type { OidcProvider } from '../users/oidc/provider.js';

/** The context of a call by the operator. */
export const operator = callContext({ caller: 'operator' });

/** The password of users in tests. */
export const password = 'correct horse battery';

let clients = 0;
/** Returns the client of a sign-in, with a network address of its own, so that tests do not throttle each other. */
export const newClient = (): Client => ({ address: `192.0.2.${(clients = (clients % 250) + 1)}`, userAgent: 'Test' });

/** Returns the context of a call by the gateway for the user of a session, with the actor token verified. */
export function actingAs({ session, user }: SignedIn, roles: Readonly<Record<string, string>> = {}): CallContext {
  const { id: userId, email, isOperator } = user!;
  const clientAddress = '192.0.2.1';
  const actor = {
    userId,
    sessionId: session!.id,
    email,
    isOperator,
    clientAddress,
    roles: new Map(Object.entries(roles)),
    projectRoles: new Map(),
  };
  return { ...callContext({ caller: 'gateway' }), actor };
}

/** Holds a running auth service and its dependencies. */
export interface TestAuth {
  /** Settings that a test changes; a change takes effect immediately. */
  readonly config: {
    signUp: boolean;
    oidcSignUp: boolean;
    privateWebhooks: boolean;
    requireSecondFactor: 'nobody' | 'operators' | 'everyone';
    sessionIdleMs: number;
  };
  readonly service: AuthService;
  readonly users: UserService;
  readonly callers: CallerService;
  readonly notifications: NotificationService;
  readonly webhooks: WebhookService;
  readonly module: ServiceModule<AuthService>;
  readonly db: Database;
  readonly clock: ManualClock;
  /** All lines logged so far, at every level. */
  readonly logLines: string[];
  /** Starts another auth service on the same database, like another process. */
  startReplica(): Promise<AuthService>;
  /** Does the same, and returns the whole module. */
  startReplicaModule(): Promise<AuthModule>;
  /** Stops auth with its replicas and drops the database. */
  stop(): Promise<void>;
}

/** An identity provider that returns the claims contained in its response. */
export const identityProvider: OidcProvider = {
  name: 'Test ID',
  issuer: 'https://id.example.com',
  begin: async (redirectUri, reauthenticate) => ({
    location: reauthenticate ? `${redirectUri}?prompt=login` : redirectUri,
    challenge: { state: '', nonce: '', verifier: '' },
  }),
  finish: async (_redirectUri, query) => JSON.parse(query) as IdentityClaims,
};

/** Returns a response of that provider with these claims. */
export function identityResponse(claims: Omit<IdentityClaims, 'authenticatedAtMs'> & Partial<IdentityClaims>): IdentityResponse {
  const challenge = { state: '', nonce: '', verifier: '' };
  return { redirectUri: 'https://ai.example.com/callback', query: JSON.stringify(claims), challenge };
}

/** Starts auth on an empty database of this engine; without mail unless there is a mailer and an address. */
export async function startTestAuth(
  engine: Engine,
  { mailer, publicUrl }: { mailer?: Mailer; publicUrl?: string } = {},
): Promise<TestAuth> {
  const { db, url, drop } = await createTestDatabase(engine);
  const clock = new ManualClock();
  const logLines: string[] = [];
  const log = createLogger({ name: 'auth', level: 'trace' }, { write: (line) => void logLines.push(line) });
  const secretKeys = fixedSecretKeys(randomBytes(32));
  const config = {
    ...parseSettings(authSettings, {}),
    heartbeatIntervalMs: 250,
    notificationIntervalMs: 20,
    privateWebhooks: true,
    signUp: true,
  };
  const replicas: { module: ServiceModule<AuthService>; db: Database }[] = [];

  const start = async (on: Database): Promise<AuthModule> => {
    const module = createAuth(config, { db: on, clock, log, mailer, publicUrl, secretKeys, identityProvider });
    await module.start();
    return module;
  };
  const module = await start(db);
  const startReplicaModule = async (): Promise<AuthModule> => {
    const replicaDb = openDatabase(url);
    const replica = await start(replicaDb);
    replicas.push({ module: replica, db: replicaDb });
    return replica;
  };
  return {
    config,
    service: module.service,
    users: module.users.service,
    callers: module.callers.service,
    notifications: module.notifications.service,
    webhooks: module.webhooks.service,
    module,
    db,
    clock,
    logLines,
    startReplica: async () => (await startReplicaModule()).service,
    startReplicaModule,
    async stop() {
      for (const replica of replicas) {
        await replica.module.stop();
        await replica.db.close();
      }
      await module.stop();
      await drop();
    },
  };
}

/** Creates an account. */
export async function newAccount(auth: AuthService, name = 'Ada'): Promise<Account> {
  const { account } = await auth.createAccount(CreateAccountRequest.fromPartial({ name }), operator);
  return account!;
}

/** Holds a new key and its secret. */
export interface MintedKey {
  readonly key: Key;
  readonly secret: string;
}

/** Creates a key. */
export async function newKey(auth: AuthService, account: Account, fields: DeepPartial<CreateKeyRequest> = {}): Promise<MintedKey> {
  const { key, secret } = await auth.createKey(
    CreateKeyRequest.fromPartial({ accountId: account.id, name: 'laptop', ...fields }),
    operator,
  );
  return { key: key!, secret };
}
