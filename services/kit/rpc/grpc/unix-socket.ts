// Unix sockets outlive a process that was killed; the file must be removed before the next one can listen.
import { lstatSync, rmSync } from 'node:fs';
import { isListening } from '../../process/admin-socket.js';

/** Removes the socket when no process listens on it. Throws when a process does, or when the path is another kind of file. */
export async function removeStaleSocket(path: string): Promise<void> {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (file === undefined) return;
  if (!file.isSocket()) throw new Error(`${path} must be a socket, but another kind of file exists there.`);
  if (await isListening(path)) throw new Error(`Another process listens on ${path}.`);
  rmSync(path);
}
