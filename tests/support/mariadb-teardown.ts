// After a run of the tests: ends the MariaDB that mariadb-setup.ts started, if it did, and removes its data.
import type {} from './mariadb-setup.js';

/** Stops the server. */
export default async function tearDown(): Promise<void> {
  await globalThis.stopTestMariadb?.();
}
