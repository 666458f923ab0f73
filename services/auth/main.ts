// The process of auth when it runs separately.
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { WebhookServiceDefinition } from '#proto/auth/v1/webhooks.js';
import { localAddress } from '#kit/config/addresses.js';
import { databasePart } from '#kit/db/part.js';
import { createMailer } from '#kit/mail/mailer.js';
import { mailCheck } from '#kit/mail/settings.js';
import { offer, runService } from '#kit/process/service-process.js';
import { authProcessSettings } from './config.js';
import { createAuth, SecretKeyFile, signInCheck } from './index.js';

await runService({
  name: 'auth',
  listen: localAddress('auth'),
  settings: authProcessSettings,
  checks: [mailCheck, signInCheck],
  build(config, host) {
    const { log, clock } = host;
    const database = databasePart(config.databaseUrl, host, config.migrationDatabaseUrl);
    const auth = createAuth(config, {
      db: database.db,
      clock,
      log,
      mailer: createMailer(config),
      publicUrl: config.publicUrl,
      secretKeys: new SecretKeyFile(config.secretKeyPath),
      lostSecretKey: config.lostSecretKey,
    });
    return {
      parts: [database, auth],
      offers: [
        offer(AuthServiceDefinition, auth),
        offer(UserServiceDefinition, auth.users),
        offer(CallerServiceDefinition, auth.callers),
        offer(NotificationServiceDefinition, auth.notifications),
        offer(WebhookServiceDefinition, auth.webhooks),
      ],
      callers: auth.callers.service,
    };
  },
});
