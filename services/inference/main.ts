// The process of inference when it runs as a separate service.
import { CallerServiceDefinition } from '#proto/auth/v1/callers.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { text } from '#kit/config/settings.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/process/service-process.js';
import { createInference, ensureSecretKey, inferenceSettings } from './index.js';

await runService({
  name: 'inference',
  listen: '127.0.0.1:7105',
  settings: {
    ...inferenceSettings,
    databaseUrl: databaseUrl('TOLLGATE_INFERENCE_DATABASE_URL'),
    authAddress: text('TOLLGATE_AUTH_ADDRESS', 'where auth is: host:port', { default: '127.0.0.1:7101' }),
    secretKeyPath: text(
      'TOLLGATE_INFERENCE_SECRET_KEY_FILE',
      'file with the key that encrypts upstream credentials, the same for every replica; made when absent',
      {
        default: './data/secret-key',
      },
    ),
  },
  build(config, { log, clock, dial }) {
    const database = databasePart(config.databaseUrl, log);
    const toAuth = dial('auth', config.authAddress);
    const auth = toAuth.client(UserServiceDefinition);
    const callers = toAuth.client(CallerServiceDefinition);
    const secretKey = ensureSecretKey(config.secretKeyPath);
    const inference = createInference(config, { db: database.db, clock, log, secretKey, auth });
    return { parts: [database, inference], offers: [offer(InferenceServiceDefinition, inference)], callers };
  },
});
