// The gateway as a process of its own.
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
import { createFolder } from '#kit/config/folder.js';
import { runProcess } from '#kit/process/process.js';
import { timed } from '#kit/rpc/chain/rpc-metrics.js';
import { batchClient } from '#client/batch/batch-client.js';
import { gatewaySettings, gatewayCheck, peerSettings } from './config.js';
import { createGateway } from './index.js';

await runProcess({
  name: 'gateway',
  settings: { gateway: gatewaySettings, peers: peerSettings },
  checks: [gatewayCheck],
  ownPrefixes: ['TOLLGATE_GATEWAY_'],
  build(config, host) {
    const { log, clock, common } = host;
    const { peers } = config;
    const spoolDir = config.gateway.spoolDir ?? './data/spool';
    createFolder(gatewaySettings.spoolDir.env, spoolDir);
    // The requests of all calls to the ledger and to metering are batched.
    const holds = { method: 'batch', operations: ['hold', 'release'], caller: 'gateway', log } as const;
    const records = { method: 'batch', operations: ['recordUsage'], caller: 'gateway', log } as const;
    // One connection for each service: readiness must say what calls would meet. If a replica dies, another one answers the lookup of a key.
    const auth = host.dial('auth', peers.auth, { attempts: 3 });
    const catalog = host.dial('catalog', peers.catalog);
    const ledger = host.dial('ledger', peers.ledger);
    const metering = host.dial('metering', peers.metering);
    const inference = host.dial('inference', peers.inference);
    const gateway = createGateway(config.gateway, {
      peers: {
        auth: auth.client(AuthServiceDefinition),
        users: auth.client(UserServiceDefinition),
        callers: auth.client(CallerServiceDefinition),
        notifications: auth.client(NotificationServiceDefinition),
        webhooks: auth.client(WebhookServiceDefinition),
        catalog: catalog.client(CatalogServiceDefinition),
        ledger: timed(
          LedgerServiceDefinition,
          batchClient(LedgerServiceDefinition, ledger.client(LedgerServiceDefinition), holds).client,
          'grpc',
          holds.operations,
        ),
        alerts: ledger.client(AlertServiceDefinition),
        payments: ledger.client(PaymentServiceDefinition),
        metering: timed(
          MeteringServiceDefinition,
          batchClient(MeteringServiceDefinition, metering.client(MeteringServiceDefinition), records).client,
          'grpc',
          records.operations,
        ),
        inference: inference.client(InferenceServiceDefinition),
        health: { ledger: ledger.client(HealthDefinition), metering: metering.client(HealthDefinition) },
      },
      clock,
      log,
      common,
      spoolDir,
    });
    return [gateway];
  },
});
