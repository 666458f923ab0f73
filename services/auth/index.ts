// The public interface of auth: all that the composition may import.
import type { Clock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { whenReachable } from '#kit/db/when-reachable.js';
import { idToBytes } from '#kit/id.js';
import type { Database } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { Mailer } from '#kit/mail/mailer.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { SecretKeeper } from '#kit/secrets/secret-keeper.js';
import type { SecretKeySource } from '#kit/secrets/secret-keys.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import type { CallerService } from '#proto/auth/v1/callers.js';
import { Role, type UserService } from '#proto/auth/v1/users.js';
import type { WebhookService } from '#proto/auth/v1/webhooks.js';
import { ActorTokens } from './actors/actor-tokens.js';
import { SigningKeyStore } from './actors/signing-key-store.js';
import { SigningKeys } from './actors/signing-keys.js';
import { CallerStore } from './callers/caller-store.js';
import { callerService } from './callers/service.js';
import { ChangeFeed } from './change-feed.js';
import type { AuthConfig } from './config.js';
import { migrations } from './migrations/index.js';
import type { NotificationService } from '#proto/auth/v1/notifications.js';
import { observeBackups } from './backup-metrics.js';
import { observeNotifications } from './notifications/metrics.js';
import { Notifier } from './notifications/notifier.js';
import { notificationService } from './notifications/service.js';
import { NotificationStore } from './notifications/store.js';
import type { DeliveryDeps } from './notifications/try-delivery.js';
import { withActorRules } from './users/actor-rules.js';
import type { UserDeps } from './users/deps.js';
import { UserMails } from './users/mail/user-mails.js';
import { createOidc, type OidcProvider } from './users/oidc/provider.js';
import { Challenges } from './users/second-factor/challenges.js';
import { Passkeys } from './users/second-factor/passkeys.js';
import { SecondFactorStore } from './users/second-factor/store.js';
import { userService } from './users/service.js';
import { AuditStore } from './users/store/audit.js';
import { FailureStore } from './users/store/failures.js';
import { IdentityStore } from './users/store/identities.js';
import { MailBudget } from './users/store/mail-budget.js';
import { ManagementKeyStore } from './users/store/management-keys.js';
import { MemberStore } from './users/store/members.js';
import { UserStore } from './users/store/users.js';
import { ResetStore } from './users/store/resets.js';
import { SessionStore } from './users/store/sessions.js';
import { startSweeping } from './users/sweep.js';
import { stillWanted } from './users/mail/still-wanted.js';
import { failureWindowMs } from './users/passwords/throttle.js';
import { authService } from './service.js';
import { AccountStore } from './store/accounts.js';
import { ChangeStore } from './store/changes.js';
import { IdempotencyStore } from './store/idempotency.js';
import { KeyStore } from './store/keys.js';
import { ProjectStore } from './store/projects.js';
import { readSealedSecrets } from './store/sealed-secrets.js';
import { eventOf } from './webhooks/audited-events.js';
import { EndpointHealth } from './webhooks/endpoint-health.js';
import { WebhookEndpointStore } from './webhooks/endpoint-store.js';
import { WebhookPublisher } from './webhooks/events.js';
import { webhookService } from './webhooks/service.js';

export { SecretKeyFile } from '#kit/secrets/secret-keys.js';
export { type AuthConfig, authSettings } from './config.js';
export { signInCheck } from './users/oidc/settings.js';
export { pauseDeliveries } from './store/installation.js';
export { recordRestore } from './users/audit/restores.js';
export { migrations as authMigrations } from './migrations/index.js';

/** Holds what auth needs from its process. */
export interface AuthDeps {
  /** Auth's own database, opened and closed by the composition. */
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** Undefined: no mail is sent. Closed when auth stops. */
  readonly mailer: Mailer | undefined;
  /** The public address at which users open the console, for links in mails; without it no mail is sent. */
  readonly publicUrl: string | undefined;
  /** The keys under which secrets are sealed in the database, the same for every replica. */
  readonly secretKeys: SecretKeySource;
  /** The id of a secret key that is permanently lost. */
  readonly lostSecretKey?: string | undefined;
  /** Replaces the provider of the settings, in tests. */
  readonly identityProvider?: OidcProvider;
}

// The rest of the interval allows for the read and the delivery, so that no heartbeat arrives later than announced.
const pollShareOfHeartbeat = 0.8;

/** The services of auth, which share a database and a lifecycle. */
export interface AuthModule extends ServiceModule<AuthService> {
  /** The users of the console, as a separate module for the processes that offer it. */
  readonly users: ServiceModule<UserService>;
  /** The callers, likewise. */
  readonly callers: ServiceModule<CallerService>;
  /** Mails and webhook requests, likewise. */
  readonly notifications: ServiceModule<NotificationService>;
  /** The webhook endpoints of accounts, likewise. */
  readonly webhooks: ServiceModule<WebhookService>;
}

/** Creates auth over its own database. `start` migrates and starts to look for changes; `stop` ends every watch. */
export function createAuth(
  config: AuthConfig,
  { db, clock, log, mailer, publicUrl, secretKeys, lostSecretKey, identityProvider }: AuthDeps,
): AuthModule {
  const { heartbeatIntervalMs } = config;
  const feed = new ChangeFeed(new ChangeStore(db), { pollIntervalMs: heartbeatIntervalMs * pollShareOfHeartbeat }, log);
  const accounts = new AccountStore(db);
  const projects = new ProjectStore(db);
  const mailBudget = new MailBudget(db);
  const members = new MemberStore(db);
  const sessions = new SessionStore(db);
  const resets = new ResetStore(db);
  const isWanted = stillWanted({ members, sessions, resets, clock });
  const box = new SecretBox(secretKeys);
  const keeper = new SecretKeeper({
    service: 'auth',
    db,
    keys: secretKeys,
    read: () => readSealedSecrets(db),
    lostKeyId: lostSecretKey,
    log,
  });
  const endpoints = new WebhookEndpointStore(db, box);
  const notifications = new NotificationStore(db);
  const delivery: DeliveryDeps = {
    notifications,
    endpoints,
    fanOut: (notification) => events.fanOut(notification),
    noteAttempt: (notification, attempted) => health.note(notification, attempted),
    box,
    mailer,
    isWanted,
    config,
    clock,
    log,
  };
  const notifier = new Notifier(delivery);
  const events = new WebhookPublisher({ db, endpoints, notifications, notifier });
  const store = new SigningKeyStore(db);
  const signingKeys = new SigningKeys({ store, box, clock, log, lifeMs: config.signingKeyMs });
  const factors = new SecondFactorStore(db);
  const passkeys = new Passkeys(publicUrl, log);
  const audit = new AuditStore(db, clock, async (tx, record) => {
    const found = eventOf(record);
    if (found !== undefined) await events.publish(tx, found.event, found.accountId);
  });
  const health = new EndpointHealth({
    db,
    endpoints,
    notifications,
    notifier,
    budget: mailBudget,
    audit,
    async ownersOf(accountId) {
      const found = await members.ofAccount(idToBytes('acct', accountId)!);
      return found.flatMap(({ role, user }) => (role === Role.ROLE_OWNER && !user!.isDisabled ? [user!.email] : []));
    },
    publicUrl,
    clock,
    log,
  });
  const users: UserDeps = {
    db,
    users: new UserStore(db),
    sessions,
    failures: new FailureStore(db, failureWindowMs),
    identities: new IdentityStore(db),
    members,
    managementKeys: new ManagementKeyStore(db),
    audit,
    accounts,
    projects,
    resets,
    factors,
    challenges: new Challenges({ store: factors, passkeys, box, clock }),
    passkeys,
    mailBudget,
    mails: new UserMails({ hasMailServer: mailer !== undefined, publicUrl, budget: mailBudget, notifier, clock, log }),
    notifier,
    box,
    actorTokens: new ActorTokens(signingKeys, clock),
    identityProvider: identityProvider ?? createOidc(config, { clock, log }),
    lifetimes: config,
    config,
    clock,
    log,
  };
  let endSweeping: (() => Promise<void>) | undefined;
  let endObserving: (() => void) | undefined;
  const ready: ServiceModule<unknown>['ready'] = async () =>
    feed.upToDate ? { ok: true } : { ok: false, why: 'auth cannot read its database' };
  const partOfAuth = <S>(name: string, service: S): ServiceModule<S> => ({
    name,
    service,
    start: async () => undefined,
    stop: async () => undefined,
    ready,
  });
  return {
    name: 'auth',
    service: authService({
      db,
      accounts,
      projects,
      keys: new KeyStore(db),
      idempotency: new IdempotencyStore(db),
      audit,
      feed,
      heartbeatIntervalMs,
      clock,
      log,
    }),
    async start() {
      await migrate(db, migrations, log);
      await whenReachable(log, () => keeper.start());
      await whenReachable(log, () => signingKeys.start());
      await whenReachable(log, () => feed.start());
      endSweeping = startSweeping(users);
      await whenReachable(log, () => notifier.start());
      const ends = [observeNotifications(delivery), observeBackups({ db, accounts, clock, log })];
      endObserving = () => ends.forEach((end) => end());
      if (mailer !== undefined && publicUrl === undefined)
        log.warn(
          'a mail server is set, but TOLLGATE_GATEWAY_PUBLIC_URL is not: no mail is sent to users, since its links need that address',
        );
    },
    async stop() {
      await endSweeping?.();
      endObserving?.();
      await users.mails.stop();
      await notifier.stop();
      await feed.stop();
      await signingKeys.stop();
      await keeper.stop();
    },
    ready,
    // Started and stopped with the module that contains them.
    users: partOfAuth('users', withActorRules(userService(users))),
    notifications: partOfAuth('notifications', notificationService({ ...delivery, db, notifier, events, audit })),
    webhooks: partOfAuth('webhooks', webhookService({ db, endpoints, notifications, notifier, budget: mailBudget, audit, config, clock })),
    callers: partOfAuth(
      'callers',
      callerService({ callers: new CallerStore(db), signingKeys, accounts, audit, feed, heartbeatIntervalMs, clock, log }),
    ),
  };
}
