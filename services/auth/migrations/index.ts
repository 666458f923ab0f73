// The migrations of auth, in order.
import { accountsAndKeys } from './0001-accounts-and-keys.js';
import { rotation } from './0002-rotation.js';
import { people } from './0003-people.js';
import { identities } from './0004-identities.js';
import { operator } from './0005-operator.js';
import { mail } from './0006-mail.js';
import { passwordReset } from './0007-password-reset.js';

/** All of them. */
export const migrations = [accountsAndKeys, rotation, people, identities, operator, mail, passwordReset];
