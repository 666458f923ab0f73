// One gateway thread of the single process: HTTP, and inference alongside it because its events are most of the traffic. All other services, and
// the administration of upstreams, are in the main thread.
import { join } from 'node:path';
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { NotificationServiceDefinition } from '#proto/auth/v1/notifications.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { WebhookServiceDefinition } from '#proto/auth/v1/webhooks.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { PaymentServiceDefinition } from '#proto/ledger/v1/payments.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { HealthDefinition } from '#grpc/health/v1/health.js';
import { openDatabase } from '#kit/db/open.js';
import type { Part } from '#kit/lifecycle.js';
import { runThread } from '#kit/process/thread-process.js';
import { Access } from '#kit/rpc/access/access.js';
import { crossings } from '#kit/rpc/local/crossing.js';
import { localClient } from '#kit/rpc/local/local-client.js';
import { decorateService } from '#kit/rpc/chain/standard-chain.js';
import { createGateway, sharedOccupancy, WindowTable } from '../../gateway/index.js';
import { createInference, SecretKeyFile, sharedCallsInFlight } from '../../services/inference/index.js';
import type { GatewayThreadData } from './gateway-threads.js';

await runThread<GatewayThreadData>((data, { log, clock, common, thread, services }) => {
  const db = openDatabase(`sqlite:${join(data.dataDir, 'inference.db')}`);
  const database: Part = { name: 'database', start: async () => undefined, stop: () => db.close() };
  // The limits of callers and of upstreams are in one table.
  const windows = new WindowTable(data.limits, thread);
  const inference = createInference(data.inference, {
    db,
    clock,
    log,
    secretKeys: new SecretKeyFile(join(data.dataDir, 'secret-key')),
    auth: services.client(UserServiceDefinition),
    servesCallsOnly: true,
    shared: { callsInFlight: sharedCallsInFlight(data.callsInFlight, thread), windows },
  });
  const own = localClient(
    InferenceServiceDefinition,
    decorateService(InferenceServiceDefinition, inference.service, { access: new Access(), log }),
    {
      caller: 'gateway',
      crossing: crossings[data.messages],
    },
  );
  // Calls without an acting user, whom only the main thread can verify.
  const { generate, countTokens, countUsage } = own;
  const health = services.client(HealthDefinition);
  const gateway = createGateway(data.gateway, {
    peers: {
      auth: services.client(AuthServiceDefinition),
      users: services.client(UserServiceDefinition),
      callers: services.client(CallerServiceDefinition),
      notifications: services.client(NotificationServiceDefinition),
      webhooks: services.client(WebhookServiceDefinition),
      catalog: services.client(CatalogServiceDefinition),
      ledger: services.client(LedgerServiceDefinition),
      alerts: services.client(AlertServiceDefinition),
      payments: services.client(PaymentServiceDefinition),
      metering: services.client(MeteringServiceDefinition),
      inference: { ...services.client(InferenceServiceDefinition), generate, countTokens, countUsage },
      health: { ledger: health, metering: health },
    },
    clock,
    log,
    common,
    spoolDir: data.spoolDir,
    shared: { thread, occupancy: sharedOccupancy(data.occupancy, thread), limits: windows },
  });
  return { parts: [database, inference, gateway], result: () => gateway.address() };
});
