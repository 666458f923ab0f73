// The front door of auth: all that composition may import.
import type { Clock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrate.js';
import type { Database } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { AuthService } from '#proto/auth/v1/auth.js';
import { ChangeFeed } from './change-feed.js';
import type { AuthConfig } from './config.js';
import { migrations } from './migrations/index.js';
import { authService } from './service.js';
import { AccountStore } from './store/accounts.js';
import { ChangeStore } from './store/changes.js';
import { IdempotencyStore } from './store/idempotency.js';
import { KeyStore } from './store/keys.js';

export { type AuthConfig, authSettings } from './config.js';
export { authPolicy } from './policy.js';

/** What auth needs from its process. */
export interface AuthDeps {
  /** Auth's own database, opened and closed by the composition. */
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
}

// The rest of the interval is for the read itself and the way to the watcher, so that no heartbeat comes after it was promised.
const pollShareOfHeartbeat = 0.8;

/** Auth over its own database. `start` migrates and begins to look for changes; `stop` ends every watch. */
export function createAuth(config: AuthConfig, { db, clock, log }: AuthDeps): ServiceModule<AuthService> {
  const { heartbeatIntervalMs } = config;
  const feed = new ChangeFeed(new ChangeStore(db), { pollIntervalMs: heartbeatIntervalMs * pollShareOfHeartbeat }, log);
  return {
    name: 'auth',
    service: authService({
      accounts: new AccountStore(db),
      keys: new KeyStore(db),
      idempotency: new IdempotencyStore(db),
      feed,
      heartbeatIntervalMs,
      clock,
      log,
    }),
    async start() {
      await migrate(db, migrations);
      await feed.start();
    },
    stop: () => feed.stop(),
    async ready() {
      return feed.upToDate ? { ok: true } : { ok: false, why: 'auth cannot read its database' };
    },
  };
}
