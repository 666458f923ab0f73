// The secret keys of an installation: what its services report, and the files on this machine.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readSecretKeys } from '#kit/secrets/secret-key.js';
import type { CliConfig } from './config.js';
import { operatorCall, type Services } from './connect.js';

/** The services that encrypt secrets, and the names of their key files in the data folder of the launcher of the distributed mode. */
export const keyFileNames = { auth: 'auth-secret-key', metering: 'metering-secret-key', inference: 'secret-key' } as const;

/** One of these services. */
export type SealingService = keyof typeof keyFileNames;

/** The key file of a single process. */
export const singleKeyFileName = 'secret-key';

/** A key as a service reports it. */
export interface ReportedKey {
  readonly service: SealingService;
  readonly id: string;
  readonly current: boolean;
  readonly sealed: bigint;
}

/** Returns the keys of all services. */
export async function reportedKeys(services: Services): Promise<ReportedKey[]> {
  const keys: ReportedKey[] = [];
  for (const service of Object.keys(keyFileNames) as SealingService[]) {
    const { process } = await services[service].getHealth({}, operatorCall());
    keys.push(...(process?.secretKeys ?? []).map(({ id, current, sealed }) => ({ service, id, current, sealed })));
  }
  return keys;
}

/** Returns the key files on this machine, by their paths, with the services that use each. */
export function keyFiles({ mode, dataDir }: Pick<CliConfig, 'mode' | 'dataDir'>): Map<string, SealingService[]> {
  const files = new Map<string, SealingService[]>();
  for (const [service, name] of Object.entries(keyFileNames) as [SealingService, string][]) {
    const path = join(dataDir, mode === 'single' ? singleKeyFileName : name);
    if (mode === 'single' || existsSync(path)) files.set(path, [...(files.get(path) ?? []), service]);
  }
  return files;
}

/** Returns the files that lack a key that a service of theirs uses, with the ids of those keys. */
export function lackingFiles(files: ReadonlyMap<string, readonly SealingService[]>, keys: readonly ReportedKey[]): Map<string, string[]> {
  const lacking = new Map<string, string[]>();
  for (const [path, services] of files) {
    const present = new Set((readSecretKeys(path) ?? []).map(({ id }) => id));
    const used = keys.filter(({ service, current, sealed }) => services.includes(service) && (current || sealed > 0n));
    const ids = [...new Set(used.map(({ id }) => id).filter((id) => !present.has(id)))];
    if (ids.length > 0) lacking.set(path, ids);
  }
  return lacking;
}
