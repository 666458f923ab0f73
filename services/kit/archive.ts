// Files for records that are kept but no longer queried: compressed JSON lines, each file written once and never changed.
import { createWriteStream } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { newId } from './id.js';
import { syncPath } from './sync-path.js';

/**
 * Writes the values of all pages, one JSON line each, to a new file in the folder, named by kind and time. When it resolves the file is
 * complete and survives a power failure; until then no file has that name. Returns its path; without a page it writes no file and returns undefined.
 * Raises the errors of the file system and of the pages.
 */
export async function writeArchive(
  folder: string,
  kind: string,
  pages: AsyncGenerator<readonly unknown[]>,
  nowMs: number,
): Promise<string | undefined> {
  const first = await pages.next();
  if (first.done === true) return undefined;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const instant = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const path = join(folder, `${kind}-${instant}-${newId('a', nowMs).slice(-12)}.jsonl.gz`);
  const unfinished = `${path}.part`;
  try {
    await pipeline(linesOf(first.value, pages), createGzip(), createWriteStream(unfinished, { flags: 'wx', mode: 0o600 }));
    await syncPath(unfinished);
    await rename(unfinished, path);
    await syncPath(folder);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  return path;
}

async function* linesOf(first: readonly unknown[], others: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
  yield textOf(first);
  for await (const page of others) yield textOf(page);
}

function textOf(page: readonly unknown[]): string {
  return page.map((value) => `${JSON.stringify(value)}\n`).join('');
}
