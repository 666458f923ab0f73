// A running ledger on a database of its own, for tests.
import { Access } from '#kit/rpc/access/access.js';
import { ManualClock } from '#kit/clock.js';
import { type Database, type DatabaseOptions, type Engine, openDatabase } from '#kit/db/open.js';
import { createLogger, type Logger } from '#kit/log.js';
import { createTestDatabase } from '#kit/testing/database.js';
import { type RecordedAudit, recordedAudit } from '#kit/testing/audit.js';
import type { LedgerService } from '#proto/ledger/v1/ledger.js';
import type { LedgerConfig } from '../config.js';
import { createLedger, type LedgerModule } from '../index.js';

/** The settings of a ledger whose own sweeper does not run, so that a test decides when holds end. */
export const quietConfig: LedgerConfig = {
  sweepIntervalMs: 3_600_000,
  sweepBatchSize: 200,
  clockSkewMs: 500,
  queueMax: 5000,
  lanes: 2,
  archiveDir: undefined,
  retentionDays: 400,
  archiveIntervalMs: 3_600_000,
  alertIntervalMs: 3_600_000,
};

/** Holds the ledger and its surroundings. */
export interface TestLedger {
  readonly service: LedgerService;
  readonly settleInTransaction: LedgerModule['settleInTransaction'];
  readonly db: Database;
  /** For opening the same database again, as another process would. */
  readonly url: string;
  readonly clock: ManualClock;
  readonly log: Logger;
  /** Every line logged so far, of every level. */
  readonly logLines: string[];
  /** Receives the audit events that the ledger ships. */
  readonly auth: RecordedAudit;
  /** Starts another ledger on the same database, as another process would be. */
  startReplica(config?: LedgerConfig): Promise<LedgerService>;
  stop(): Promise<void>;
}

/** Starts a ledger on an empty database of this engine. `sharesRecords`: as in single mode, see `LedgerDeps`. */
export async function startTestLedger(
  engine: Engine,
  config: LedgerConfig = quietConfig,
  { sharesRecords = false, database = {} }: { sharesRecords?: boolean; database?: DatabaseOptions } = {},
): Promise<TestLedger> {
  const { db, url, drop } = await createTestDatabase(engine, database);
  const clock = new ManualClock();
  const logLines: string[] = [];
  const log = createLogger({ name: 'ledger', level: 'trace' }, { write: (line) => void logLines.push(line) });
  const auth = recordedAudit();
  const stops: (() => Promise<void>)[] = [];

  const start = async (on: Database, settings: LedgerConfig): Promise<LedgerModule> => {
    const module = createLedger(settings, { db: on, clock, log, access: new Access(), auth, sharesRecords });
    await module.start();
    stops.push(() => module.stop());
    return module;
  };
  const { service, settleInTransaction } = await start(db, config);
  return {
    service,
    settleInTransaction,
    db,
    url,
    clock,
    log,
    logLines,
    auth,
    async startReplica(settings = config) {
      const replicaDb = openDatabase(url);
      stops.push(() => replicaDb.close());
      return (await start(replicaDb, settings)).service;
    },
    async stop() {
      for (const stop of stops.reverse()) await stop();
      await drop();
    },
  };
}
