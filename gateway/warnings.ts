// Problems that an operator should fix before they stop calls. The gateway serves no RPC, so `tollgate doctor` reads them from its readiness.
import { statfs } from 'node:fs/promises';
import { certificateMsMin, isAlmostFull } from '#rules/operating-limits.js';
import { certificateExpiresAtMs } from '#kit/process/process-info.js';

/** Names the problems: "certificate" (it expires soon) and "spool_disk" (it is almost full). */
export async function findWarnings(spoolDir: string, nowMs: number): Promise<string[]> {
  const expiresAtMs = certificateExpiresAtMs();
  const disk = await statfs(spoolDir).catch(() => undefined);
  const found = {
    certificate: expiresAtMs !== undefined && expiresAtMs - nowMs < certificateMsMin,
    spool_disk: disk !== undefined && isAlmostFull(disk.bavail * disk.bsize, disk.blocks * disk.bsize),
  };
  return Object.entries(found).flatMap(([name, isFound]) => (isFound ? [name] : []));
}
