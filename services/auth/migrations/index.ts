// The migrations of auth, in order.
import { accountsAndKeys } from './0001-accounts-and-keys.js';
import { rotation } from './0002-rotation.js';

/** All of them. */
export const migrations = [accountsAndKeys, rotation];
