// The sealed secrets in the database of inference: the credentials of upstreams.
import type { SealedSecret } from '#kit/secrets/secret-keeper.js';
import type { UpstreamStore } from './store.js';
import { purposeOf } from './upstreams/credentials.js';

/** Returns all sealed secrets. An upstream without its last credential is disabled until the credential is set again. */
export async function readSealedSecrets(store: UpstreamStore): Promise<SealedSecret[]> {
  return (await store.list()).flatMap((row) =>
    row.credentials.map((credential): SealedSecret => ({
      sealed: credential.sealed,
      purpose: purposeOf(row),
      replace: (by) => store.replaceSealed(row.id, credential.sealed, by),
    })),
  );
}
