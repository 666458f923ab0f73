// Metering on a database of its own, with a clock and a ledger controlled by tests.
import { randomBytes } from 'node:crypto';
import { Access } from '#kit/rpc/access/access.js';
import { fixedSecretKeys } from '#kit/secrets/secret-keys.js';
import { ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import { type Database, type Engine, openDatabase } from '#kit/db/open.js';
import type { ServiceModule } from '#kit/lifecycle.js';
import { createLogger } from '#kit/log.js';
import { createTestDatabase, type TestDatabase } from '#kit/testing/database.js';
import { eventually } from '#kit/testing/waiting.js';
import { recordedAudit } from '#kit/testing/audit.js';
import type { AlertKeyRefusedRequest } from '#proto/ledger/v1/alerts.js';
import type {
  CheckpointUsageRequest_Item,
  GetOutboxResponse,
  MeteringService,
  RecordUsageRequest,
  UsageRecord,
} from '#proto/metering/v1/metering.js';
import { AnswerQuota } from '../keyed-calls/answer-quota.js';
import { createMetering, type MeteringConfig, meteringSettings } from '../index.js';
import { startedAtMs } from './calls.js';
import { FakeLedger } from './fake-ledger.js';

const config: MeteringConfig = {
  ...parseSettings(meteringSettings, {}),
  outboxPollMs: 5,
  sweepIntervalMs: 5,
  foldIntervalMs: 5,
  promptLogSweepIntervalMs: 5,
  lostGraceMs: 0,
  drainTimeoutMs: 500,
};

/** Replicas of metering on one database, and their surroundings. */
export class Harness {
  readonly ledger = new FakeLedger();
  /** A minute after the calls of tests started. */
  readonly clock = new ManualClock(Number(startedAtMs) + 60_000);
  readonly audit = recordedAudit();
  /** The keys of replicas that start from now on. */
  secretKeys = fixedSecretKeys(randomBytes(32));
  /** For how many days projects log prompts; those that are not in it do not. */
  readonly promptLogDays = new Map<string, number>();
  /** The quota for stored responses, with the default limits. */
  readonly quota = new AnswerQuota({ config, clock: this.clock });
  /** Alerts of refused keys, oldest first. */
  readonly alerted: AlertKeyRefusedRequest[] = [];
  /** Log lines at warn and above, oldest first. */
  readonly lines: { level: string; msg: string; call_id?: string }[] = [];
  /** Fails every transaction while it is set: the database answers queries, but cannot write. */
  writeFault: Error | undefined;
  private readonly replicas: ServiceModule<MeteringService>[] = [];
  private readonly extraDatabases: Database[] = [];

  private constructor(
    readonly engine: Engine,
    private readonly database: TestDatabase,
  ) {}

  static async create(engine: Engine): Promise<Harness> {
    return new Harness(engine, await createTestDatabase(engine));
  }

  get db(): Database {
    return this.database.db;
  }

  /** Returns the address for opening the database again. */
  get url(): string {
    return this.database.url;
  }

  /** Starts a replica. On MySQL it has connections of its own; a SQLite file has one connection in one process. */
  async replica(changes: Partial<MeteringConfig> = {}, lostSecretKey?: string): Promise<ServiceModule<MeteringService>> {
    const first = this.replicas.length === 0;
    const db = first || this.engine === 'sqlite' ? this.db : openDatabase(this.database.url);
    if (db !== this.db) this.extraDatabases.push(db);
    const log = createLogger({ name: 'metering', level: 'warn' }, { write: (line) => void this.lines.push(JSON.parse(line)) });
    const metering = createMetering(
      { ...config, ...changes },
      {
        db: {
          ...db,
          plainTransaction: (work, options) =>
            this.writeFault === undefined ? db.plainTransaction(work, options) : Promise.reject(this.writeFault),
          isWritable: async () => this.writeFault === undefined && (await db.isWritable()),
        },
        clock: this.clock,
        log,
        access: new Access(),
        ledger: this.ledger.client,
        catalog: { listPriceVersions: async () => ({ prices: [] }) },
        alerts: {
          alertKeyRefused: async (request) => {
            this.alerted.push(request);
            return { mails: 1 };
          },
        },
        auth: this.audit,
        promptLogs: {
          projects: {
            batchGetPromptLogDays: async ({ projectIds }) => ({ days: projectIds.map((id) => this.promptLogDays.get(id) ?? 0) }),
          },
          secretKeys: this.secretKeys,
          lostSecretKey,
        },
      },
    );
    await metering.start();
    this.replicas.push(metering);
    return metering;
  }

  async close(): Promise<void> {
    for (const replica of this.replicas) await replica.stop();
    for (const db of this.extraDatabases) await db.close();
    await this.database.drop();
  }
}

/** Records one call and returns its record. */
export async function record(service: MeteringService, request: RecordUsageRequest): Promise<UsageRecord> {
  return (await service.recordUsage(request)).record!;
}

/** Returns the current record of a call; undefined when there is none. */
export async function find(service: MeteringService, callId: string): Promise<UsageRecord | undefined> {
  try {
    return (await service.getUsageRecord({ callId, accountId: '' })).record;
  } catch {
    return undefined;
  }
}

/** Checkpoints calls and returns which are open. */
export async function checkpoint(service: MeteringService, ...items: CheckpointUsageRequest_Item[]): Promise<boolean[]> {
  return (await service.checkpointUsage({ items })).open;
}

/** Returns the state of the outbox. */
export function outboxOf(service: MeteringService): Promise<GetOutboxResponse> {
  return service.getOutbox({});
}

/** Waits until the condition holds; throws when it does not within 20 seconds. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => (await condition()) || undefined);
}

/** Lets background work run for a while, to show that it does not do something. */
export function aWhile(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 60));
}
