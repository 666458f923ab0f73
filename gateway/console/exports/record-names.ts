// The names of the keys and projects of exported records, each read once for an export.
import { hasReason } from '#client/errors/app-error.js';
import type { UsageRecord } from '#proto/metering/v1/metering.js';
import type { GatewayPeers } from '../../peers.js';
import type { RecordNames } from './record-csv.js';

type Peers = { readonly auth: Pick<GatewayPeers['auth'], 'getKey' | 'getProject'> };
type Context = Parameters<GatewayPeers['auth']['getKey']>[1];

/** RPCs at the same time. */
const readsMax = 16;

/** Returns a function that adds the names of these records' keys and projects to those that it has read, and returns all of them. */
export function recordNames(
  { auth }: Peers,
  accountId: string,
  context: () => Context,
): (records: readonly UsageRecord[]) => Promise<RecordNames> {
  const [keys, projects, creators] = [new Map<string, string>(), new Map<string, string>(), new Map<string, string>()];
  return async (records) => {
    await readInto(
      keys,
      records.map(({ call }) => call!.keyId),
      async (keyId) => {
        const key = (await auth.getKey({ keyId, accountId }, context())).key!;
        creators.set(keyId, key.createdByUserId);
        return key.name;
      },
    );
    await readInto(
      projects,
      records.map(({ call }) => call!.projectId),
      async (projectId) => (await auth.getProject({ projectId, accountId }, context())).project!.name,
    );
    return { keys, projects, creators };
  };
}

async function readInto(names: Map<string, string>, ids: readonly string[], read: (id: string) => Promise<string>): Promise<void> {
  const missing = [...new Set(ids)].filter((id) => id !== '' && !names.has(id));
  for (let start = 0; start < missing.length; start += readsMax) {
    const some = missing.slice(start, start + readsMax).map(async (id) => names.set(id, await read(id).catch(withoutName)));
    await Promise.all(some);
  }
}

/** A key or project that no longer exists, or of an archived record, has no name. */
function withoutName(error: unknown): string {
  if (hasReason(error, 'not_found') || hasReason(error, 'key_unknown')) return '';
  throw error;
}
