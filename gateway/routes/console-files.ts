// The console's built files (dist/console-app), held in memory: a few hundred kilobytes, so that no path can lead elsewhere.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

/** A file in the forms in which it can be sent. */
export interface AppFile {
  readonly type: string;
  readonly etag: string;
  /** Whether its name changes with its content, so that caches may keep it. */
  readonly isNamedByContent: boolean;
  readonly forms: Readonly<Partial<Record<'identity' | 'gzip' | 'br', Buffer>>>;
}

/** What is sent for /console. */
export interface AppFiles {
  /** Undefined when the console was not built. */
  readonly index: string | undefined;
  find(path: string): AppFile | undefined;
}

const types: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
};

/** Reads the built files in `folder`. */
export function readAppFiles(folder: string): AppFiles {
  if (!existsSync(join(folder, 'index.html'))) return { index: undefined, find: () => undefined };
  const files = new Map<string, AppFile>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = types[extname(name)];
    if (type === undefined) continue;
    const path = join(folder, name);
    const identity = readFileSync(path);
    files.set(name, {
      type,
      etag: `"${createHash('sha256').update(identity).digest('base64url').slice(0, 22)}"`,
      isNamedByContent: name.startsWith('assets/'),
      forms: { identity, ...form(path, 'gz', 'gzip'), ...form(path, 'br', 'br') },
    });
  }
  return { index: readFileSync(join(folder, 'index.html'), 'utf8'), find: (path) => files.get(path) };
}

function form(path: string, extension: string, name: 'gzip' | 'br'): Partial<Record<'gzip' | 'br', Buffer>> {
  const compressed = `${path}.${extension}`;
  return existsSync(compressed) ? { [name]: readFileSync(compressed) } : {};
}
