// What a failed run leaves for whoever looks into it.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Writes all that was seen to a file for whoever looks into a failure; its path. */
export function keepEvidence(evidence: object): string {
  const path = join(mkdtempSync(join(tmpdir(), 'tollgate-kill-')), 'evidence.json');
  writeFileSync(path, JSON.stringify(evidence, jsonable, 1));
  return path;
}

/** For JSON.stringify: maps as lists, and amounts as text. */
export function jsonable(_: string, value: unknown): unknown {
  if (value instanceof Map) return [...value];
  return typeof value === 'bigint' ? value.toString() : value;
}
