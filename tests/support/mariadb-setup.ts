// Before a run of the tests: with TOLLGATE_TEST_MYSQL=1 a private MariaDB is started, so that store tests cover that engine too
// (services/kit/testing/database.ts). Nothing happens without it, or when a server is named already.
import { mkdtempSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Jest maps import names for tests, but not for what its setup files import: here Node itself reads our TypeScript.
registerHooks({
  resolve: (name, context, next) =>
    next(context.parentURL?.endsWith('.ts') === true && /^\..*\.js$/.test(name) ? name.replace(/\.js$/, '.ts') : name, context),
});

declare global {
  // Carried from the setup of a run to its teardown; jest loads the two apart.
  var stopTestMariadb: (() => Promise<void>) | undefined;
}

/** Starts the server and names it in TOLLGATE_TEST_MYSQL_URL. */
export default async function setUp(): Promise<void> {
  if (process.env['TOLLGATE_TEST_MYSQL'] !== '1' || process.env['TOLLGATE_TEST_MYSQL_URL'] !== undefined) return;
  const { startMariadb } = await import('../../deploy/distributed/mariadb/mariadb.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-test-db-'));
  const server = await startMariadb({ dataDir, log: { info() {}, error() {} } });
  process.env['TOLLGATE_TEST_MYSQL_URL'] = server.adminUrl;
  globalThis.stopTestMariadb = async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
