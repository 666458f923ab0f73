// Where Tollgate is installed.
import { existsSync } from 'node:fs';

/** The folder that contains package.json, docs/ and the build, with a trailing slash; found from the sources and from the build. */
export const root: URL = findRoot(new URL('./', import.meta.url));

function findRoot(folder: URL): URL {
  if (existsSync(new URL('package.json', folder))) return folder;
  const parent = new URL('../', folder);
  if (parent.href === folder.href) throw new Error('No folder above the program contains package.json; install Tollgate as a whole.');
  return findRoot(parent);
}
