// The dependencies of inference's RPCs.
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import type { InferenceConfig } from './config.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import type { Router } from './routing/router.js';
import type { UpstreamStore } from './store.js';
import type { TargetStore } from './target-store.js';
import type { UpstreamRegistry } from './upstreams/registry.js';

/** Holds the dependencies passed to every RPC. */
export interface RpcDeps {
  readonly db: Database;
  readonly config: InferenceConfig;
  readonly store: UpstreamStore;
  readonly targets: TargetStore;
  readonly registry: UpstreamRegistry;
  readonly router: Router;
  readonly box: SecretBox;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly log: Logger;
}
