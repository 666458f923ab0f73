// Loads the console's keys page from the three services that have data about keys.
import { systemClock } from '#kit/clock.js';
import { migrate } from '#kit/db/migrations/migrate.js';
import { type Database, openDatabase } from '#kit/db/open.js';
import { newId } from '#kit/id.js';
import { callContext } from '#client/call-context.js';
import { AccountState, KeyState } from '#proto/auth/v1/auth.js';
import type { RpcDeps as AuthDeps } from '#services/auth/deps.js';
import { migrations as authMigrations } from '#services/auth/migrations/index.js';
import { getAccount } from '#services/auth/rpcs/get-account.js';
import { listKeys } from '#services/auth/rpcs/list-keys.js';
import { AccountStore } from '#services/auth/store/accounts.js';
import { KeyStore } from '#services/auth/store/keys.js';
import type { RpcDeps as LedgerDeps } from '#services/ledger/deps.js';
import { migrations as ledgerMigrations } from '#services/ledger/migrations/index.js';
import { listKeySpend } from '#services/ledger/rpcs/list-key-spend.js';
import { Reads } from '#services/ledger/store/reads.js';
import { accountColumns, bucketTable, bytesOf, fromKey } from '#services/ledger/store/rows.js';
import type { RpcDeps } from '#services/metering/deps.js';
import { batchGetKeyActivity } from '#services/metering/rpcs/batch-get-key-activity.js';
import { type Engine, newDatabase } from '../database.ts';

/** Number of keys in addition to the used ones. */
const unusedKeys = 990;

/** Loads a page of keys, newest first, with their spend and last use. */
export interface KeysPage {
  readonly ask: (pageSize: number) => Promise<unknown>;
  readonly close: () => Promise<void>;
}

async function newMigrated(engine: Engine, migrations: Parameters<typeof migrate>[1]) {
  const { url, drop } = await newDatabase(engine);
  const db = openDatabase(url);
  await migrate(db, migrations);
  return {
    db,
    close: async () => {
      await db.close();
      await drop();
    },
  };
}

/** Adds the account, its keys and a thousand more to auth and the ledger, in separate databases; metering has the used ones. */
export async function keysPageOf(metering: Database, accountId: string, usedKeys: readonly string[]): Promise<KeysPage> {
  const auth = await newMigrated(metering.engine, authMigrations);
  const ledger = await newMigrated(metering.engine, ledgerMigrations);
  const keyIds = [...Array.from({ length: unusedKeys }, () => newId('key')), ...usedKeys];
  await auth.db.knex('account').insert({
    id: bytesOf('acct', accountId),
    name: 'bench',
    state: AccountState.ACCOUNT_STATE_ACTIVE,
    created_at_ms: 0,
    version: 1,
    change_number: 1,
  });
  for (const [index, keyId] of keyIds.entries()) {
    await auth.db.knex('platform_key').insert({
      id: bytesOf('key', keyId),
      account_id: bytesOf('acct', accountId),
      secret_hash: Buffer.concat([bytesOf('key', keyId), Buffer.alloc(16)]),
      last_four: 'abcd',
      name: `key ${index}`,
      model_ids: null,
      lifetime_limit_nano_usd: 1_000_000_000,
      expires_at_ms: null,
      state: KeyState.KEY_STATE_ACTIVE,
      created_at_ms: index,
      revoked_at_ms: null,
      version: 1,
      change_number: index + 2,
    });
  }
  const lead = accountColumns(accountId, metering.engine);
  const buckets = keyIds.map((keyId) =>
    fromKey({ accountId, keyId, spentNanoUsd: 5n, heldNanoUsd: 0n, limitNanoUsd: 1_000_000_000n, limitVersion: 1n }, lead),
  );
  await ledger.db.plainTransaction((tx) => tx.insert(bucketTable, buckets));
  const context = callContext({ caller: 'bench' });
  const authDeps = { accounts: new AccountStore(auth.db), keys: new KeyStore(auth.db), clock: systemClock } as AuthDeps;
  const ledgerDeps = { reads: new Reads(ledger.db) } as LedgerDeps;
  return {
    async ask(pageSize) {
      const { keys } = await listKeys({ accountId, projectId: '', pageSize, pageToken: '', newestFirst: true }, context, authDeps);
      const ids = keys.map(({ id }) => id);
      return Promise.all([
        getAccount({ accountId }, context, authDeps),
        listKeySpend({ accountId, keyIds: ids }, context, ledgerDeps),
        batchGetKeyActivity({ accountId, keyIds: ids }, context, { db: metering } as RpcDeps),
      ]);
    },
    async close() {
      await auth.close();
      await ledger.close();
    },
  };
}
