// Restores of the installation from a backup, as the audit log records them.
import type { Clock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Database } from '#kit/db/open.js';
import type { AuditEvent, AuditRestore } from '#proto/auth/v1/users.js';
import { migrations } from '../../migrations/index.js';
import { AuditStore } from '../store/audit.js';

const action = 'installation.restore';

interface Detail {
  readonly backup_at: string;
}

/** Appends the event of a restore to the restored log, before anything else is appended to it. */
export async function recordRestore(db: Database, clock: Clock, backupAt: string): Promise<void> {
  await migrate(db, migrations);
  const detail: Detail = { backup_at: backupAt };
  const audit = new AuditStore(db, clock);
  await db.transaction((tx) => audit.append(tx, { caller: 'operator' }, { action, targetId: '', detail }));
}

/** Returns the restore that an event of the log records; undefined if it records another change. */
export function restoreOf(event: AuditEvent): AuditRestore | undefined {
  if (event.action !== action) return undefined;
  const backupAtMs = Date.parse((JSON.parse(event.detailJson) as Partial<Detail>).backup_at ?? '');
  // Another service may append any action.
  if (Number.isNaN(backupAtMs)) return undefined;
  // The event is the first one after those of the backup.
  return { atMs: event.atMs, backupAtMs: BigInt(backupAtMs), lastNumber: event.number - 1n };
}
