// Waits for a folder that a process of a killed launcher may still use.
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasReason } from '#client/errors/app-error.js';
import { lockFolder } from '#kit/db/sqlite/folder-lock.js';

const pollMs = 100;

/** Waits until no process has locked the folder. Raises failed_precondition, which names the setting, if one still has after `patienceMs`. */
export async function untilReleased(folder: string, setting: string, patienceMs: number): Promise<void> {
  if (!existsSync(folder)) return;
  for (const untilMs = Date.now() + patienceMs; ; await sleep(pollMs)) {
    try {
      lockFolder(folder, setting)();
      return;
    } catch (error) {
      if (!hasReason(error, 'failed_precondition') || Date.now() >= untilMs) throw error;
    }
  }
}
