// The Unix socket on which a single-process gateway listens for its operator. The process that listens and the command that connects
// share this rule.
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { AppError } from '#client/errors/app-error.js';

/**
 * The longest path that is used for a Unix socket, in bytes. Linux allows 107 (sun_path of unix(7), without the terminating zero byte)
 * and other systems 103, so this is safe everywhere.
 */
export const socketPathBytesMax = 100;

/** The path of a data folder's operator socket, or of the file that contains that path when the folder's own path is too long. */
export type AdminSocketPlace = { readonly path: string } | { readonly pointerPath: string };

/** Returns `tollgate.sock` in the data folder; when that is too long for a socket, `tollgate.sock.path`, which contains the actual path. */
export function adminSocketPlace(dataDir: string): AdminSocketPlace {
  const path = join(resolve(dataDir), 'tollgate.sock');
  return Buffer.byteLength(path) <= socketPathBytesMax ? { path } : { pointerPath: `${path}.path` };
}

/** For the command: returns the path of the socket, or undefined when no gateway has listened for this data folder. */
export function findAdminSocket(dataDir: string): string | undefined {
  const place = adminSocketPlace(dataDir);
  if ('path' in place) return existsSync(place.path) ? place.path : undefined;
  return knownPath(place.pointerPath);
}

/**
 * For the gateway: returns the path to listen on. Raises failed_precondition when another gateway listens for this data folder. `serveGrpc`
 * removes the socket of a killed gateway.
 */
export async function claimAdminSocket(dataDir: string): Promise<string> {
  mkdirSync(dataDir, { recursive: true });
  const place = adminSocketPlace(dataDir);
  const path = 'path' in place ? place.path : pointedPath(place.pointerPath);
  if (await isListening(path)) {
    throw new AppError(
      'failed_precondition',
      `Tollgate is already running for ${dataDir}; stop it first, or choose another TOLLGATE_DATA_DIR.`,
    );
  }
  return path;
}

/** Reports whether a process accepts connections on this Unix socket. */
export function isListening(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}

/**
 * Returns the path in the file, unless its folder is not private to the user who wrote the file: the folder may have been removed, and anyone can create
 * another one in its place.
 */
function knownPath(pointerPath: string): string | undefined {
  if (!existsSync(pointerPath)) return undefined;
  const path = readFileSync(pointerPath, 'utf8').trim();
  const folder = lstatSync(dirname(path), { throwIfNoEntry: false });
  const isPrivate = folder?.isDirectory() === true && folder.uid === lstatSync(pointerPath).uid && (folder.mode & 0o077) === 0;
  return isPrivate ? path : undefined;
}

// mkdtemp creates the folder, so that only this user can create a socket in it, and the next start reuses it.
function pointedPath(pointerPath: string): string {
  const known = knownPath(pointerPath);
  if (known !== undefined) return known;
  const path = join(mkdtempSync(join(tmpdir(), 'tollgate-')), 'tollgate.sock');
  writeFileSync(pointerPath, `${path}\n`, { mode: 0o600 });
  return path;
}
