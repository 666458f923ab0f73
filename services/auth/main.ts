// The process of auth when it runs separately.
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { text } from '#kit/config/settings.js';
import { publicUrl } from '#kit/config/public-url.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { createMailer } from '#kit/mail/mailer.js';
import { mailSettings } from '#kit/mail/settings.js';
import { offer, runService } from '#kit/process/service-process.js';
import { authSettings, createAuth, ensureSecretKey } from './index.js';

await runService({
  name: 'auth',
  listen: '127.0.0.1:7101',
  settings: {
    ...authSettings,
    ...mailSettings,
    publicUrl,
    databaseUrl: databaseUrl('TOLLGATE_AUTH_DATABASE_URL'),
    secretKeyPath: text(
      'TOLLGATE_AUTH_SECRET_KEY_FILE',
      'file with the key that encrypts the signing keys of auth, and mails and webhook secrets until they are delivered; the same for every replica; created when absent',
      { default: './data/auth-secret-key' },
    ),
  },
  build(config, { log, clock }) {
    const database = databasePart(config.databaseUrl, log);
    const auth = createAuth(config, {
      db: database.db,
      clock,
      log,
      mailer: createMailer(config),
      publicUrl: config.publicUrl,
      secretKey: ensureSecretKey(config.secretKeyPath),
    });
    return {
      parts: [database, auth],
      offers: [
        offer(AuthServiceDefinition, auth),
        offer(UserServiceDefinition, auth.users),
        offer(CallerServiceDefinition, auth.callers),
        offer(NotificationServiceDefinition, auth.notifications),
      ],
      callers: auth.callers.service,
    };
  },
});
