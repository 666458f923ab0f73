// Recovery codes, each of which replaces a second factor once.
import { createHash, randomBytes } from 'node:crypto';

/** The number of codes in a set. */
const recoveryCodesMax = 10;
/** RFC 4648 Base32 in lower case, without digits that look like letters. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';
const chars = 16;

/** Returns a new set of codes such as "abcd-efgh-ijkl-mnop", each of 80 random bits, with the hashes under which they are stored. */
export function newRecoveryCodes(): { codes: string[]; hashes: Buffer[] } {
  const codes = Array.from({ length: recoveryCodesMax }, () => {
    // 32 characters divide 256 evenly.
    const text = Array.from(randomBytes(chars), (byte) => alphabet[byte % alphabet.length]).join('');
    return text.replace(/(.{4})(?=.)/g, '$1-');
  });
  return { codes, hashes: codes.map(hashRecoveryCode) };
}

/** Returns the hash of a code; spaces, dashes and case are ignored. */
export function hashRecoveryCode(code: string): Buffer {
  return createHash('sha256').update(code.replace(/[\s-]/g, '').toLowerCase()).digest();
}
