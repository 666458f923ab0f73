// Runs after the tests. Stops the MariaDB that mariadb-setup.ts started, if any, and removes its data.
import type {} from './mariadb-setup.js';

/** Stops the server. */
export default async function tearDown(): Promise<void> {
  await globalThis.stopTestMariadb?.();
}
