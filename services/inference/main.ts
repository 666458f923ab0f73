// The process of inference when it runs apart.
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { text } from '#kit/config/settings.js';
import { databasePart, databaseUrl } from '#kit/db/part.js';
import { offer, runService } from '#kit/service-process.js';
import { createInference, ensureSecretKey, inferencePolicy, inferenceSettings } from './index.js';

await runService({
  name: 'inference',
  listen: '127.0.0.1:7105',
  settings: {
    ...inferenceSettings,
    databaseUrl: databaseUrl('TOLLGATE_INFERENCE_DATABASE_URL'),
    secretKeyPath: text(
      'TOLLGATE_INFERENCE_SECRET_KEY_FILE',
      'file with the key that encrypts upstream credentials, the same for every replica; made when absent',
      {
        default: './data/secret-key',
      },
    ),
  },
  build(config, { log, clock }) {
    const database = databasePart(config.databaseUrl, log);
    const inference = createInference(config, { db: database.db, clock, log, secretKey: ensureSecretKey(config.secretKeyPath) });
    return { parts: [database, inference], offers: [offer(InferenceServiceDefinition, inference, inferencePolicy)] };
  },
});
