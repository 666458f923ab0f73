// The schema of auth, in the order in which it is built.
import { accountsAndKeys } from './0001-accounts-and-keys.js';

/** Every migration, oldest first. */
export const authMigrations = [accountsAndKeys] as const;
