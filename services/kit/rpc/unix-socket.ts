// Unix sockets outlive a process that was killed; the file must go before the next one can listen.
import { existsSync, rmSync } from 'node:fs';
import { isListening } from '../admin-socket.js';

/** Removes the socket file when nobody listens behind it. Throws when somebody does. */
export async function removeStaleSocket(path: string): Promise<void> {
  if (!existsSync(path)) return;
  if (await isListening(path)) throw new Error(`Another process listens on ${path}.`);
  rmSync(path);
}
