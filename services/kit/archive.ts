// Files for records that are kept but no longer queried: compressed JSON lines, each file written once and never changed.
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { newId } from './id.js';
import { syncPath } from './sync-path.js';

/**
 * Writes the values, one JSON line each, to a new file in the folder, named by kind and time. When it resolves the file is
 * complete and survives a power failure; until then no file has that name. Returns its path. Raises the errors of the file system.
 */
export async function writeArchive(folder: string, kind: string, values: Iterable<unknown>, nowMs: number): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const instant = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const path = join(folder, `${kind}-${instant}-${newId('a', nowMs).slice(-12)}.jsonl.gz`);
  const unfinished = `${path}.part`;
  try {
    await pipeline(linesOf(values), createGzip(), createWriteStream(unfinished, { flags: 'wx', mode: 0o600 }));
    await syncPath(unfinished);
    await rename(unfinished, path);
    await syncPath(folder);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  return path;
}

function* linesOf(values: Iterable<unknown>): Generator<string> {
  for (const value of values) yield `${JSON.stringify(value)}\n`;
}
