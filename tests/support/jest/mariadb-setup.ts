// Runs before the tests. If TOLLGATE_TEST_MYSQL=1, starts a private MariaDB, so that store tests cover that engine too
// (services/kit/testing/database.ts). Does nothing otherwise, or if a server is already configured.
import { mkdtempSync, rmSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

// Jest maps import names for tests, but not for imports of its setup files, where Node itself loads our TypeScript.
registerHooks({
  resolve: (name, context, next) =>
    next(context.parentURL?.endsWith('.ts') === true && /^\..*\.js$/.test(name) ? name.replace(/\.js$/, '.ts') : name, context),
});

declare global {
  // Passed from the setup of a run to its teardown through a global, because Jest loads the two separately.
  var stopTestMariadb: (() => Promise<void>) | undefined;
}

/** Starts the server and sets TOLLGATE_TEST_MYSQL_URL to its address. */
export default async function setUp(): Promise<void> {
  if (process.env['TOLLGATE_TEST_MYSQL'] !== '1' || process.env['TOLLGATE_TEST_MYSQL_URL'] !== undefined) return;
  const { startMariadb } = await import('../../../deploy/distributed/mariadb/mariadb.js');
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-test-db-'));
  const server = await startMariadb({ dataDir, log: { info() {}, error() {} } });
  process.env['TOLLGATE_TEST_MYSQL_URL'] = server.adminUrl;
  globalThis.stopTestMariadb = async () => {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}
