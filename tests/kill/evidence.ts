// Saves what a failed run observed, for debugging.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes everything that was observed to a file. Returns its path. */
export function keepEvidence(evidence: object): string {
  const path = join(mkdtempSync(join(tmpdir(), 'tollgate-kill-')), 'evidence.json');
  writeFileSync(path, JSON.stringify(evidence, jsonable, 1));
  return path;
}

/** Replacer for JSON.stringify that writes maps as lists and amounts as strings. */
export function jsonable(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value];
  return typeof value === 'bigint' ? value.toString() : value;
}
