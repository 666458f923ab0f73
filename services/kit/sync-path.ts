// Syncs files and folders to disk, so that they survive a power failure.
import { open } from 'node:fs/promises';

/** Writes a file, or the names in a folder, through to the disk: a new file is durable only once its folder is. */
export async function syncPath(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
