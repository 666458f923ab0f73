// Takes backups of a system under load and faults, restores each in another place, starts it there, and judges its books by what its clients
// had observed when the backup began.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startSystemOn, type System } from '../support/systems/system.js';
import { runCommand } from '../support/clients/command-runner.js';
import { eventually } from '../support/systems/process.js';
import { type Books, type RecordRow, readQuietBooks } from './books.js';
import type { Outcome } from './outcome.js';
import type { Random } from './random.js';

/** A backup of a running system. */
export interface Backup {
  readonly folder: string;
  /** Every call that was answered before this time must be in it. */
  readonly startedAtMs: number;
}

const pauseMsMax = { one: 1500, several: 10_000 } as const;
const backupMsMax = 120_000;
const quietMsMax = 150_000;

/** Takes backups at random instants, below a new folder. One that a fault interrupts is repeated. */
export async function takeBackups(system: System, count: number, random: Random): Promise<{ folder: string; backups: Backup[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-backups-'));
  const backups: Backup[] = [];
  for (let tries = 0; backups.length < count; tries += 1) {
    await sleep(random.integer(0, count > 1 ? pauseMsMax.several : pauseMsMax.one));
    const place = join(folder, String(tries));
    await eventually(async () => {
      const { started_at: startedAt } = await system.json<{ started_at: string }>('backup', place);
      backups.push({ folder: place, startedAtMs: Date.parse(startedAt) });
      return true;
    }, backupMsMax);
  }
  return { folder, backups };
}

/** The books of a restored backup, and the outcomes by which they can be judged. */
export interface RestoredBooks {
  readonly books: Books;
  readonly outcomes: readonly Outcome[];
  /** Calls that were answered when the backup began. */
  readonly answered: number;
  readonly report: Readonly<Record<string, unknown>>;
}

/**
 * Restores a backup, starts it, makes a call with this probe, and reads the books once nothing is open. Throws if the restore finds books that
 * disagree.
 */
export async function restoreAndRead(
  system: System,
  { folder, startedAtMs }: Backup,
  options: {
    env: Record<string, string>;
    accountIds: readonly string[];
    outcomes: readonly Outcome[];
    quietMs: number;
    probe: (baseUrl: string) => Promise<Outcome>;
  },
): Promise<RestoredBooks> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-restored-'));
  try {
    const { code, stdout, stderr } = await runCommand(['restore', folder, '--secret-key', system.dataDir, '--json'], {
      TOLLGATE_DATA_DIR: dataDir,
    });
    if (code !== 0) throw new Error(`The restore of ${folder} ended with ${code}: ${stdout}${stderr}`);
    const restored = await startSystemOn(dataDir, system.mode, options.env);
    try {
      const probed = await options.probe(restored.baseUrl);
      const books = await readQuietBooks(restored, options.accountIds, options.quietMs, quietMsMax);
      const outcomes = [...observedBy(options.outcomes, books.records, startedAtMs), probed];
      const answered = options.outcomes.filter(({ how, endedAtMs }) => how === 'whole' && endedAtMs <= startedAtMs).length;
      return { books, outcomes, answered, report: JSON.parse(stdout) as Record<string, unknown> };
    } finally {
      await restored.stop();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Returns what had ended by this time, and of the other calls those that are on record, as calls whose clients saw nothing of the end. */
function observedBy(outcomes: readonly Outcome[], records: readonly RecordRow[], atMs: number): Outcome[] {
  const recorded = new Set(records.map(({ client_request_id: clientId }) => clientId));
  return outcomes.flatMap((outcome): Outcome[] => {
    if (outcome.endedAtMs <= atMs) return [outcome];
    return recorded.has(outcome.clientId) ? [{ ...outcome, how: 'disconnected', originalRequestId: undefined, text: '' }] : [];
  });
}
