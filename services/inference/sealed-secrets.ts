// The sealed secrets in the database of inference: the credentials of upstreams.
import type { SealedSecret } from '#kit/secrets/secret-keeper.js';
import type { UpstreamStore } from './store.js';
import { purposeOf } from './upstreams/credentials.js';

/** Returns them all. A discarded credential must be set again before its upstream can be used with it. */
export async function readSealedSecrets(store: UpstreamStore): Promise<SealedSecret[]> {
  return (await store.list()).flatMap((row) =>
    row.credentials.map((credential): SealedSecret => ({
      sealed: credential.sealed,
      purpose: purposeOf(row),
      replace: (by) => store.replaceSealed(row.id, credential.sealed, by),
    })),
  );
}
