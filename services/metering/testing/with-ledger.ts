// Metering over a real ledger, for tests that compare the two: each on a database of its own or both on one, with one clock controlled by the test.
import { callContext } from '#client/call-context.js';
import { Access } from '#kit/rpc/access/access.js';
import { ManualClock } from '#kit/clock.js';
import { parseSettings } from '#kit/config/settings.js';
import type { Database, Engine } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { createLogger } from '#kit/log.js';
import { createTestDatabase, type TestDatabase } from '#kit/testing/database.js';
import { recordedAudit } from '#kit/testing/audit.js';
import { silentLog } from '#kit/testing/log.js';
import type { PriceVersion } from '#proto/catalog/v1/catalog.js';
import { DepositSource, type LedgerService } from '#proto/ledger/v1/ledger.js';
import type { Drift, MeteringService, RecordUsageRequest, ReconcileResponse } from '#proto/metering/v1/metering.js';
import { createLedger, ledgerSettings } from '../../ledger/index.js';
import { createMetering, meteringSettings } from '../index.js';
import { call, price, report } from './calls.js';
import { find, until } from './harness.js';

/** Holds the two services, and what tests do with them. */
export interface Money {
  readonly clock: ManualClock;
  readonly ledger: LedgerService;
  readonly metering: MeteringService;
  readonly ledgerDb: Database;
  readonly meteringDb: Database;
  /** Log lines of metering at warn and above. */
  readonly lines: Record<string, unknown>[];
  /** Prices that the catalog has. */
  readonly catalog: PriceVersion[];
  /** Creates an account with this balance, and a key. */
  customer(nanoUsd?: bigint): Promise<Customer>;
  /** Holds, records and settles a call; returns its id. */
  makeCall(customer: Customer, changes?: Partial<RecordUsageRequest>): Promise<string>;
  /** Only places a hold. */
  hold(customer: Customer, onProvisional?: (holdId: string) => void, durableWithRecord?: boolean): Promise<string>;
  /** Compares everything, or one account; returns the sums over all parts. */
  reconcile(
    accountId?: string,
  ): Promise<Omit<ReconcileResponse, 'nextPageToken'> & { found: Record<string, [stored: bigint, expected: bigint]> }>;
  stop(): Promise<void>;
}

export interface Customer {
  readonly accountId: string;
  readonly keyId: string;
}

/** What every call of these tests sets aside: 5,000,000 nano-USD. */
export const heldNanoUsd = 5_000_000n;

/** Starts both on empty databases of this engine, or on one as in single mode (`isShared`), which may be given. */
export async function startMoney(
  engine: Engine,
  { env = {}, isShared = false, on }: { env?: Record<string, string>; isShared?: boolean; on?: Pick<TestDatabase, 'db' | 'drop'> } = {},
): Promise<Money> {
  const ledgerDatabase = on ?? (await createTestDatabase(engine));
  const meteringDatabase = isShared ? ledgerDatabase : await createTestDatabase(engine);
  const clock = new ManualClock(Date.now());
  const lines: Record<string, unknown>[] = [];
  const log = createLogger(
    { name: 'metering', level: 'warn' },
    { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) },
  );
  const ledger = createLedger(parseSettings(ledgerSettings, { TOLLGATE_LEDGER_SWEEP_INTERVAL: '1h' }), {
    db: ledgerDatabase.db,
    clock,
    log: silentLog,
    access: new Access(),
    auth: recordedAudit(),
    sharesRecords: isShared,
  });
  const catalog = [price()];
  const settings = parseSettings(meteringSettings, {
    TOLLGATE_METERING_OUTBOX_POLL: '5ms',
    TOLLGATE_METERING_SWEEP_INTERVAL: '5ms',
    TOLLGATE_METERING_RECONCILE_PATIENCE: '20ms',
    TOLLGATE_METERING_DRAIN_TIMEOUT: '500ms',
    ...env,
  });
  const metering = createMetering(settings, {
    db: meteringDatabase.db,
    clock,
    log,
    access: new Access(),
    ledger: ledger.service,
    ...(isShared ? { settleInTransaction: ledger.settleInTransaction } : {}),
    catalog: { listPriceVersions: async ({ modelId }) => ({ prices: catalog.filter((version) => version.modelId === modelId) }) },
    auth: recordedAudit(),
  });
  await ledger.start();
  await metering.start();

  async function hold(customer: Customer, onProvisional?: (holdId: string) => void, durableWithRecord = false): Promise<string> {
    const holdId = newId('req', clock.nowMs());
    const request = {
      ...customer,
      holdId,
      keyLimit: { limitNanoUsd: undefined, version: 1n },
      amountNanoUsd: heldNanoUsd,
      minAmountNanoUsd: heldNanoUsd,
      ttlMs: 60_000,
      budgets: [],
      timeZone: '',
      durableWithRecord,
    };
    const context = callContext({ caller: 'gateway', onProvisional: () => onProvisional?.(holdId) });
    await ledger.service.hold(request, context);
    return holdId;
  }

  return {
    clock,
    ledger: ledger.service,
    metering: metering.service,
    ledgerDb: ledgerDatabase.db,
    meteringDb: meteringDatabase.db,
    lines,
    catalog,
    hold,
    async customer(nanoUsd = 1_000_000_000n) {
      const accountId = newId('acct');
      await ledger.service.deposit({
        idempotencyKey: newId('deposit'),
        accountId,
        amountNanoUsd: nanoUsd,
        source: DepositSource.DEPOSIT_SOURCE_CASH,
        reason: '',
      });
      return { accountId, keyId: newId('key') };
    },
    async makeCall(customer, changes = {}) {
      const id = await hold(customer);
      await metering.service.recordUsage(
        report({ call: call({ ...customer, id, heldNanoUsd, price: catalog[0]!, startedAtMs: BigInt(clock.nowMs()) }), ...changes }),
      );
      await until(async () => (await find(metering.service, id))?.settlement !== undefined);
      return id;
    },
    async reconcile(accountId = '') {
      const sums = { recordsChecked: 0n, holdsChecked: 0n, settlementsChecked: 0n, drifts: [] as Drift[] };
      let pageToken = '';
      do {
        const part = await metering.service.reconcile({ accountId, fromMs: 0n, untilMs: 0n, pageToken });
        sums.recordsChecked += part.recordsChecked;
        sums.holdsChecked += part.holdsChecked;
        sums.settlementsChecked += part.settlementsChecked;
        sums.drifts.push(...part.drifts);
        pageToken = part.nextPageToken;
      } while (pageToken !== '');
      return { ...sums, found: Object.fromEntries(sums.drifts.map(({ subject: what, stored, expected }) => [what, [stored, expected]])) };
    },
    async stop() {
      await metering.stop();
      await ledger.stop();
      await meteringDatabase.drop();
      if (!isShared) await ledgerDatabase.drop();
    },
  };
}
