// The version of Tollgate, as package.json has it.
import { existsSync, readFileSync } from 'node:fs';

/** Reads package.json, from the sources or from the build output, which is one folder deeper. */
function readVersion(): string {
  const file = ['../../../package.json', '../../../../package.json']
    .map((path) => new URL(path, import.meta.url))
    .find((each) => existsSync(each));
  if (file === undefined) return 'unknown';
  return (JSON.parse(readFileSync(file, 'utf8')) as { version?: string }).version ?? 'unknown';
}

/** For example "0.1.0". */
export const tollgateVersion: string = readVersion();
