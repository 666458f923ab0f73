// Saves what a failed run observed, for debugging.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Not the temporary folder of the tests, which is removed when they end. */
const folder = '/tmp';

/** Writes everything that was observed to a file. Returns its path. */
export function keepEvidence(evidence: object): string {
  const path = join(mkdtempSync(join(folder, 'tollgate-kill-')), 'evidence.json');
  writeFileSync(path, JSON.stringify(evidence, jsonable, 1));
  return path;
}

/** Replacer for JSON.stringify that writes maps as lists and amounts as strings. */
export function jsonable(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value];
  return typeof value === 'bigint' ? value.toString() : value;
}
