// The process of inference when it runs as a separate service.
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { localAddress } from '#kit/config/addresses.js';
import { databasePart } from '#kit/db/part.js';
import { offer, runService } from '#kit/process/service-process.js';
import { inferenceProcessSettings } from './config.js';
import { createInference, SecretKeyFile } from './index.js';

await runService({
  name: 'inference',
  listen: localAddress('inference'),
  settings: inferenceProcessSettings,
  build(config, host) {
    const { log, clock, dial } = host;
    const database = databasePart(config.databaseUrl, host, config.migrationDatabaseUrl);
    const toAuth = dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const secretKeys = new SecretKeyFile(config.secretKeyPath);
    const inference = createInference(config, {
      db: database.db,
      clock,
      log,
      secretKeys,
      lostSecretKey: config.lostSecretKey,
      auth,
    });
    return { parts: [database, inference], offers: [offer(InferenceServiceDefinition, inference)], callers };
  },
});
