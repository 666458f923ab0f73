// The public entry point of inference: everything that other modules may import to compose a process.
import { AuditOutbox, type AuditReceiver } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { whenReachable } from '#kit/db/when-reachable.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import type { Logger } from '#kit/log.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';
import type { InferenceConfig } from './config.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { SecretKeeper } from '#kit/secrets/secret-keeper.js';
import type { SecretKeySource } from '#kit/secrets/secret-keys.js';
import { windowMemory, WindowTable } from '#kit/limits/window-table.js';
import { HealthReports } from './routing/health-reports.js';
import { Pace } from './routing/pace.js';
import { Probes } from './routing/probes.js';
import { Router } from './routing/router.js';
import { observeTargets } from './routing/routing-metrics.js';
import { readSealedSecrets } from './sealed-secrets.js';
import { inferenceService } from './service.js';
import { UpstreamStore } from './store.js';
import { TargetStore } from './target-store.js';
import { type CallsInFlight, localCallsInFlight } from './upstreams/calls-in-flight.js';
import { UpstreamRegistry } from './upstreams/registry.js';

export { type InferenceConfig, inferenceSettings } from './config.js';
export { SecretKeyFile } from '#kit/secrets/secret-keys.js';
export { migrations as inferenceMigrations } from './migrations/index.js';
export { callsInFlightMemory, clearCallsInFlight, sharedCallsInFlight } from './upstreams/calls-in-flight.js';

/** Maximum number of upstream credentials whose calls are paced at the same time. */
const pacedMax = 1024;

/** The dependencies that the process provides to inference. */
export interface InferenceDeps {
  readonly db: Database;
  readonly clock: Clock;
  readonly log: Logger;
  /** The keys under which upstream secrets are encrypted at rest; the same for every replica. */
  readonly secretKeys: SecretKeySource;
  /** The id of a secret key that is permanently lost. */
  readonly lostSecretKey?: string | undefined;
  /** Auth, which keeps the audit log. */
  readonly auth: AuditReceiver;
  /** Whether another instance in this process migrates the database and ships the audit events, so that this one only serves calls. */
  readonly servesCallsOnly?: boolean;
  /** Present in an instance that shares its limits with those in other threads of its process. */
  readonly shared?: { readonly callsInFlight: CallsInFlight; readonly windows: WindowTable };
}

/** Creates inference over its own database. Raises invalid_request when a configured base url is malformed. */
export function createInference(
  config: InferenceConfig,
  { db, clock, log, secretKeys, lostSecretKey, auth, servesCallsOnly = false, shared }: InferenceDeps,
): ServiceModule<InferenceService> {
  const store = new UpstreamStore(db);
  const audit = new AuditOutbox({ db, receiver: auth, caller: 'inference', clock, log });
  const box = new SecretBox(secretKeys);
  const keeper = new SecretKeeper({
    service: 'inference',
    db,
    keys: secretKeys,
    read: () => readSealedSecrets(store),
    lostKeyId: lostSecretKey,
    log,
  });
  const pace = new Pace(shared?.windows ?? new WindowTable(windowMemory(1, pacedMax), 1), clock);
  const router = new Router({ config, clock, log, pace, random: Math.random });
  const targets = new TargetStore(db);
  const reports: HealthReports = new HealthReports(router, targets, () => registry.reload(), clock, log);
  const onRead = async (): Promise<void> => {
    const { overrides, watchedUntilMs } = await targets.overrides();
    router.apply(overrides);
    reports.watch(watchedUntilMs);
  };
  const registry = new UpstreamRegistry({
    config,
    clock,
    log,
    store,
    box,
    onRead,
    onRemoved: (id) => router.forget(id),
    callsInFlight: shared?.callsInFlight ?? localCallsInFlight(),
  });
  const probes = new Probes(router, (id) => registry.present(id), clock);
  const stopObserving = observeTargets(router, clock, log);
  return {
    name: 'inference',
    service: inferenceService({ db, config, store, targets, registry, router, box, audit, clock, log }),
    async start() {
      if (!servesCallsOnly) {
        await store.migrate(log);
        await whenReachable(log, () => keeper.start());
        audit.start();
      }
      await whenReachable(log, () => registry.reload());
    },
    async stop() {
      stopObserving();
      probes.stop();
      await reports.stop();
      await registry.close();
      await keeper.stop();
      await audit.stop();
    },
    async ready() {
      return store.ping().then(
        () => ({ ok: true }) as const,
        () => ({ ok: false, why: 'inference cannot read its database' }) as const,
      );
    },
  };
}
