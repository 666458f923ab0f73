// The Unix socket on which a single-process gateway listens for its operator: one rule for the process that listens and for the
// command that connects.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { AppError } from '#client/errors/app-error.js';

/**
 * The longest path that is used for a Unix socket, in bytes. Linux allows 107 (sun_path of unix(7), less the closing zero byte)
 * and other systems 103, so this is safe on all.
 */
export const socketPathBytesMax = 100;

/** Where the operator's socket of a data folder is, or where its path is to be read when the folder's own path is too long. */
export type AdminSocketPlace = { readonly path: string } | { readonly pointerPath: string };

/** `tollgate.sock` in the data folder; where that is too long for a socket, `tollgate.sock.path` there holds the true path. */
export function adminSocketPlace(dataDir: string): AdminSocketPlace {
  const path = join(resolve(dataDir), 'tollgate.sock');
  return Buffer.byteLength(path) <= socketPathBytesMax ? { path } : { pointerPath: `${path}.path` };
}

/** For the command: the path of the socket, or undefined when no gateway has ever listened for this data folder. */
export function findAdminSocket(dataDir: string): string | undefined {
  const place = adminSocketPlace(dataDir);
  if ('path' in place) return existsSync(place.path) ? place.path : undefined;
  return existsSync(place.pointerPath) ? readFileSync(place.pointerPath, 'utf8').trim() : undefined;
}

/**
 * For the gateway: the path to listen on. Raises failed_precondition when another gateway listens for this data folder. What a
 * killed one left behind is removed by `serveGrpc`.
 */
export async function claimAdminSocket(dataDir: string): Promise<string> {
  mkdirSync(dataDir, { recursive: true });
  const place = adminSocketPlace(dataDir);
  const path = 'path' in place ? place.path : pointedPath(place.pointerPath);
  if (await isListening(path)) {
    throw new AppError(
      'failed_precondition',
      `A Tollgate is already running for ${dataDir}; stop it first, or choose another TOLLGATE_DATA_DIR.`,
    );
  }
  return path;
}

/** Whether somebody accepts connections on this Unix socket. */
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

// The folder is made by mkdtemp, so that only this user can put a socket there, and is used again by the next start.
function pointedPath(pointerPath: string): string {
  if (existsSync(pointerPath)) {
    const known = readFileSync(pointerPath, 'utf8').trim();
    if (existsSync(dirname(known))) return known;
  }
  const path = join(mkdtempSync(join(tmpdir(), 'tollgate-')), 'tollgate.sock');
  writeFileSync(pointerPath, `${path}\n`, { mode: 0o600 });
  return path;
}
