// Passwords: Argon2id (RFC 9106) with the parameters that OWASP recommends, in the PHC string form.
import { argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { fault } from '#client/errors/fault.js';

const derive = promisify(argon2);

/** https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html: 19 MiB, two passes, one lane. */
const present = { memory: 19_456, passes: 2, parallelism: 1 } as const;
const tagLength = 32;
const form = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{16,64})\$([A-Za-z0-9+/]{43})$/;

/** Each takes 19 MiB and a thread for a fifth of a second, so that few may run at a time. */
export const underWayMax = 8;
/** So that sign-ins from one network cannot keep all other users out. */
const underWayFromNetworkMax = 6;
/** The network from which each password that is being hashed was sent, if there is a limit for it. */
const underWay: (string | undefined)[] = [];

/** Returns the form in which a password is stored. Raises overloaded. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await bounded(() => derive('argon2id', { ...present, message: password, nonce, tagLength }));
  return `$argon2id$v=19$m=${present.memory},t=${present.passes},p=${present.parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/**
 * Reports whether the password, sent from a network, is the stored one. Takes as long when nothing is stored, so that known users cannot be detected.
 * Raises overloaded.
 */
export async function isPassword(password: string, stored: string | undefined, network: string): Promise<boolean> {
  const match = stored === undefined ? null : form.exec(stored);
  const [, memory, passes, parallelism, nonce, expected] = match ?? ['', '', '', '', '', ''];
  const parameters =
    match === null
      ? { ...present, message: password, nonce: randomBytes(16), tagLength }
      : {
          memory: Number(memory),
          passes: Number(passes),
          parallelism: Number(parallelism),
          message: password,
          nonce: Buffer.from(nonce!, 'base64'),
          tagLength,
        };
  const tag = await bounded(() => derive('argon2id', parameters), network);
  return match !== null && timingSafeEqual(tag, Buffer.from(expected!, 'base64'));
}

async function bounded<T>(work: () => Promise<T>, network?: string): Promise<T> {
  const max = network === undefined ? underWayMax : underWayFromNetworkMax;
  if (underWay.length >= underWayMax || underWay.filter((each) => each === network).length >= max)
    throw fault('sign_ins_busy', {}, { retryAfterMs: 2000 });
  underWay.push(network);
  try {
    return await work();
  } finally {
    underWay.splice(underWay.indexOf(network), 1);
  }
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
