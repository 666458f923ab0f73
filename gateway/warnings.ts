// Problems that an operator should fix before they affect more calls. The gateway serves no RPC, so `tollgate doctor` reads them from its readiness.
import { statfs } from 'node:fs/promises';
import { certificateMsMin, isAlmostFull } from '#rules/operating-limits.js';
import { certificateExpiresAtMs } from '#kit/process/process-info.js';
import { isUntrustedProxy } from './http/public-address.js';
import type { LimitStore } from './limits/limiter.js';

/** Where the problems can be. */
interface WarningSources {
  readonly spoolDir: string;
  readonly limits: Pick<LimitStore, 'isWithoutRedis'>;
  readonly config: Parameters<typeof isUntrustedProxy>[0];
  readonly nowMs: number;
}

/**
 * Names the problems: "certificate" (it expires soon), "certificate_expired", "spool_disk" (it is almost full), "redis" (it does not answer) and "proxy" (it is not trusted).
 */
export async function findWarnings({ spoolDir, limits, config, nowMs }: WarningSources): Promise<string[]> {
  const expiresAtMs = certificateExpiresAtMs();
  const disk = await statfs(spoolDir).catch(() => undefined);
  const found = {
    certificate: expiresAtMs !== undefined && expiresAtMs > nowMs && expiresAtMs - nowMs < certificateMsMin,
    certificate_expired: expiresAtMs !== undefined && expiresAtMs <= nowMs,
    spool_disk: disk !== undefined && isAlmostFull(disk.bavail * disk.bsize, disk.blocks * disk.bsize),
    redis: limits.isWithoutRedis?.() === true,
    proxy: isUntrustedProxy(config),
  };
  return Object.entries(found).flatMap(([name, isFound]) => (isFound ? [name] : []));
}
