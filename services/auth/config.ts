// The settings of auth.
import { signInSettings } from './users/oidc/settings.js';
import { publicUrl } from '#kit/config/public-url.js';
import { duration, flag, oneOf, type Settings, text, type Values } from '#kit/config/settings.js';
import { databaseUrl, migrationDatabaseUrl } from '#kit/db/part.js';
import { mailSettings } from '#kit/mail/settings.js';
import { lostSecretKey } from '#kit/secrets/secret-keeper.js';

/** Settings of auth, each with a usable default. */
export const authSettings = {
  // Registered callers are refused after a second of silence, so that one late message must not be noticed.
  heartbeatIntervalMs: duration(
    'TOLLGATE_AUTH_HEARTBEAT_INTERVAL',
    'longest time without a message on a stream of key updates; 625ms by default in a single process, where changes are pushed immediately',
    { minMs: 10, maxMs: 625, default: 320 },
  ),
  sessionIdleMs: duration('TOLLGATE_AUTH_SESSION_IDLE', 'how long an unused console session lasts', {
    minMs: 60_000,
    maxMs: 90 * 86_400_000,
    default: 7 * 86_400_000,
  }),
  sessionMs: duration('TOLLGATE_AUTH_SESSION_LIFE', 'how long a console session lasts at most', {
    minMs: 60_000,
    maxMs: 365 * 86_400_000,
    default: 30 * 86_400_000,
  }),
  linkMs: duration('TOLLGATE_AUTH_LINK_LIFE', 'how long a sign-in link can be used', {
    minMs: 1000,
    maxMs: 7 * 86_400_000,
    default: 15 * 60_000,
  }),
  invitationMs: duration('TOLLGATE_AUTH_INVITATION_LIFE', 'how long an invitation can be accepted', {
    minMs: 60_000,
    maxMs: 90 * 86_400_000,
    default: 7 * 86_400_000,
  }),
  signingKeyMs: duration('TOLLGATE_AUTH_SIGNING_KEY_LIFE', 'how long auth signs actor tokens with one key before it creates the next', {
    minMs: 300_000,
    maxMs: 365 * 86_400_000,
    default: 30 * 86_400_000,
  }),
  ...signInSettings,
  requireSecondFactor: oneOf(
    'TOLLGATE_AUTH_REQUIRE_SECOND_FACTOR',
    'who must have a second factor (nobody, operators or everyone): users without one must set it up after sign-in; users who sign in at the identity provider are exempt',
    ['nobody', 'operators', 'everyone'],
    { default: 'nobody' },
  ),
  notificationIntervalMs: duration(
    'TOLLGATE_AUTH_NOTIFICATION_INTERVAL',
    'how often auth looks for emails and webhook requests that are due for a retry',
    { minMs: 20, maxMs: 3_600_000, default: 1000 },
  ),
  notificationRetryMs: duration(
    'TOLLGATE_AUTH_NOTIFICATION_RETRY',
    'delay before the first retry of an email or webhook request; each further delay is four times as long, up to 12 hours, for six attempts for an email and nine for a webhook request',
    { minMs: 10, maxMs: 600_000, default: 10_000 },
  ),
  privateWebhooks: flag(
    'TOLLGATE_AUTH_PRIVATE_WEBHOOKS',
    'whether webhooks may be sent to private networks; set it only if all users who can sign in may reach those networks',
    { default: false },
  ),
} satisfies Settings;

/** Settings of auth as a process of its own. */
export const authProcessSettings = {
  ...authSettings,
  ...mailSettings,
  publicUrl,
  databaseUrl: databaseUrl('TOLLGATE_AUTH_DATABASE_URL'),
  migrationDatabaseUrl: migrationDatabaseUrl('TOLLGATE_AUTH_MIGRATION_DATABASE_URL'),
  lostSecretKey,
  secretKeyPath: text(
    'TOLLGATE_AUTH_SECRET_KEY_FILE',
    'file with the keys, one per line, the first of which encrypts the signing keys of auth, second factors, the secrets of webhooks, and emails until they are delivered; the same for every replica; created if it does not exist, unless the database has secrets',
    { default: './data/auth-secret-key' },
  ),
} satisfies Settings;

/** The parsed settings. */
export type AuthConfig = Values<typeof authSettings>;
