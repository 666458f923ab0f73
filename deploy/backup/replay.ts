// Makes the books of a restored installation agree before it opens. Nothing outside of it is called, and nothing is sent.
import { setTimeout as pause } from 'node:timers/promises';
import { type CallContext, callContext } from '#client/call-context.js';
import { AppError } from '#client/errors/app-error.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { HoldState, type LedgerService, LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { type Drift, DriftCheck, MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { systemClock } from '#kit/clock.js';
import { type Environment, parseSettings } from '#kit/config/settings.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import type { Database } from '#kit/db/open.js';
import type { Logger } from '#kit/log.js';
import { Access } from '#kit/rpc/access/access.js';
import { crossings } from '#kit/rpc/local/crossing.js';
import { localClient } from '#kit/rpc/local/local-client.js';
import { decorateService } from '#kit/rpc/chain/standard-chain.js';
import { verifyBooks } from '../../cli/verify-books.js';
import type { Verification } from '../../cli/views/reconcile.js';
import { replaySpool } from '../../gateway/index.js';
import { catalogMigrations, catalogSettings, createCatalog } from '../../services/catalog/index.js';
import { createLedger, ledgerMigrations, ledgerSettings } from '../../services/ledger/index.js';
import {
  createMetering,
  hasUnsentRefunds,
  meteringMigrations,
  meteringSettings,
  requeueRefunds,
  requeueSettlements,
} from '../../services/metering/index.js';

/** The databases that hold the bill. Ledger and metering may be one. */
export interface BillDatabases {
  readonly catalog: Database;
  readonly ledger: Database;
  readonly metering: Database;
}

/** The result of a replay. */
export interface Replay {
  readonly verification: Verification;
  /** Settled calls of which the ledger's copy did not know, and which were settled again. */
  readonly settledAgain: number;
  /** Calls in flight at the time of the backup. After the start they are charged up to their last checkpoint. */
  readonly callsInFlight: number;
  /** Reports in the spool that were not recorded. */
  readonly spoolLeft: number;
}

const roundsMax = 5;
const settleMsMax = 600_000;
const pollMs = 50;
// The longest time that a timer of Node can wait.
const never = 2 ** 31 - 1;
const holdsAtATime = 200;

const context = (): CallContext => callContext({ caller: 'operator', timeoutMs: 60_000 });

/**
 * Records what is in the spool, settles and refunds what metering has and the ledger has not, ends the holds whose time is over, and verifies everything.
 * Calls in flight stay open, because their gateways may still have reports of them. `env` has metering's settings, which say what is in archives.
 */
export async function replay(databases: BillDatabases, spoolFolder: string | undefined, env: Environment, log: Logger): Promise<Replay> {
  const clock = systemClock;
  await migrate(databases.catalog, catalogMigrations);
  await migrate(databases.ledger, ledgerMigrations);
  await migrate(databases.metering, meteringMigrations);
  const access = new Access();
  const chain = { access, log };
  const crossing = crossings.shared;
  // Audit events wait in their outboxes for auth.
  const auth = { appendAuditEvents: () => Promise.reject(new AppError('service_unavailable', 'Auth is not running yet.')) };
  const catalog = createCatalog(parseSettings(catalogSettings, {}), { db: databases.catalog, clock, log, auth });
  const ledger = createLedger(parseSettings(ledgerSettings, {}), { db: databases.ledger, clock, log, access, auth });
  const metering = createMetering(
    // Nothing is moved into archives.
    { ...parseSettings(meteringSettings, env), outboxPollMs: pollMs, archiveIntervalMs: never },
    {
      db: databases.metering,
      clock,
      log,
      access,
      auth,
      catalog: localClient(CatalogServiceDefinition, decorateService(CatalogServiceDefinition, catalog.service, chain), {
        caller: 'metering',
        crossing,
      }),
      ledger: localClient(LedgerServiceDefinition, decorateService(LedgerServiceDefinition, ledger.service, chain), {
        caller: 'metering',
        crossing,
      }),
    },
  );
  const untilSettled = async (): Promise<void> => {
    const untilMs = clock.monotonicMs() + settleMsMax;
    while ((await metering.service.getOutbox({}, context())).pending > 0n && clock.monotonicMs() < untilMs) await pause(pollMs);
  };
  /** Refunds that the ledger's copy does not have, and those that it refused because it did not have their charges. */
  const refundAgain = async (): Promise<void> => {
    const untilMs = clock.monotonicMs() + settleMsMax;
    await requeueRefunds(databases.metering, clock.nowMs());
    while ((await hasUnsentRefunds(databases.metering)) && clock.monotonicMs() < untilMs) await pause(pollMs);
  };
  const expireHolds = async (): Promise<void> => {
    while ((await ledger.service.expireHolds({ limit: 1000 }, context())).expired.length > 0);
  };

  await metering.start();
  try {
    const reports = localClient(MeteringServiceDefinition, decorateService(MeteringServiceDefinition, metering.service, chain), {
      caller: 'gateway',
      crossing,
    });
    const spool = spoolFolder === undefined ? undefined : await replaySpool(spoolFolder, { metering: reports, clock, log });
    let verification: Verification | undefined;
    const settledAgain = new Set<string>();
    for (let round = 1; round <= roundsMax; round += 1) {
      await untilSettled();
      await refundAgain();
      await expireHolds();
      verification = await verifyBooks({ metering: metering.service, ledger: ledger.service }, '');
      if (verification.drifts.length === 0) break;
      const unknown = await notSettled(verification.drifts, ledger.service);
      for (const callId of unknown) settledAgain.add(callId);
      await requeueSettlements(databases.metering, unknown, clock.nowMs());
    }
    const { openCalls } = await metering.service.getOutbox({}, context());
    return {
      verification: verification!,
      settledAgain: settledAgain.size,
      callsInFlight: Number(openCalls),
      spoolLeft: spool === undefined ? 0 : spool.waiting + spool.refused,
    };
  } finally {
    await metering.stop();
  }
}

/** Returns the calls with a drift whose holds the ledger does not have as settled. One that it settled differently is left for the operator. */
async function notSettled(drifts: readonly Drift[], ledger: Pick<LedgerService, 'batchGetHolds'>): Promise<string[]> {
  const calls = new Map(
    drifts
      .filter(({ check, callId }) => check === DriftCheck.DRIFT_CHECK_HOLD && callId !== '')
      .map(({ callId, accountId }) => [callId, { holdId: callId, accountId }]),
  );
  const items = [...calls.values()];
  for (let start = 0; start < items.length; start += holdsAtATime) {
    const { holds } = await ledger.batchGetHolds({ items: items.slice(start, start + holdsAtATime) }, context());
    for (const { id, state } of holds) if (state === HoldState.HOLD_STATE_SETTLED) calls.delete(id);
  }
  return [...calls.keys()];
}
