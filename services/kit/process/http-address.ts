// The file in a data folder that holds the gateway's HTTP address, so that the operator's command finds it without settings.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const pathIn = (dataDir: string): string => join(dataDir, 'http-address');

/** Writes the address of the gateway that runs for this data folder, for example http://127.0.0.1:8080. */
export function noteHttpAddress(dataDir: string, address: string): void {
  writeFileSync(pathIn(dataDir), `${address}\n`);
}

/** Returns the address of the gateway that ran last for this data folder; undefined if none ever did. */
export function findHttpAddress(dataDir: string): string | undefined {
  try {
    return readFileSync(pathIn(dataDir), 'utf8').trim();
  } catch {
    return undefined;
  }
}
