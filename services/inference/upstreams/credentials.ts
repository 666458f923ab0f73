// The credentials of stored upstreams, sealed and opened.
import { fault, fieldFault } from '#client/errors/fault.js';
import { lastFour, type SecretBox } from '#kit/secrets/secret-box.js';
import type { StoredCredential, UpstreamRow } from '../store.js';

/** A secret that requests to an upstream may carry. */
export interface UpstreamCredential {
  readonly id: string;
  readonly secret: string;
  /** When the secret was set, in Unix milliseconds. A credential whose secret is replaced begins with a new standing. */
  readonly setAtMs: number;
}

/** The id of the credential that is set together with the upstream. */
export const defaultCredentialId = 'default';

/** Maximum number of credentials of one upstream. */
export const credentialsMax = 32;

/** Longest secret, in characters. */
const secretCharsMax = 1024;

type Place = Pick<UpstreamRow, 'id' | 'baseUrl'>;

/** Returns the purpose that the sealed secrets of an upstream are bound to. */
export function purposeOf({ id, baseUrl }: Place): string {
  return `upstream ${id} ${baseUrl}`;
}

/** Raises invalid_request for a secret that cannot be sent as a header value. */
export function checkSecret(secret: string): void {
  if (secret.length > secretCharsMax || !/^[\x21-\x7e]*$/.test(secret))
    throw fieldFault('secret', 'secret_characters', { max: secretCharsMax });
}

/** Returns a credential of this upstream, sealed. */
export function sealed(id: string, secret: string, place: Place, nowMs: number, box: SecretBox): StoredCredential {
  return { id, sealed: box.seal(secret, purposeOf(place)), lastFour: lastFour(secret), setAtMs: nowMs };
}

/** Returns the credentials of a row that can be opened. The others are sealed with another key, or the row was tampered with. */
export function opened(row: UpstreamRow, box: SecretBox): UpstreamCredential[] {
  return row.credentials.flatMap(({ id, sealed: text, setAtMs }) => {
    const secret = box.open(text, purposeOf(row));
    return secret === undefined ? [] : [{ id, secret, setAtMs }];
  });
}

/** Returns the credentials of a row for another base url, to which they are bound. Raises failed_precondition if one cannot be opened. */
export function resealed(row: UpstreamRow, place: Place, box: SecretBox): readonly StoredCredential[] {
  return row.credentials.map((credential) => {
    const secret = box.open(credential.sealed, purposeOf(row));
    if (secret === undefined) throw fault('secret_unreadable', {});
    // A credential that is sealed for the same address is kept, and so is the test result that depends on it.
    return row.baseUrl === place.baseUrl ? credential : { ...credential, sealed: box.seal(secret, purposeOf(place)) };
  });
}

/** Returns the list with this credential in place of the one with the same id, or at the end. */
export function withCredential(present: readonly StoredCredential[], added: StoredCredential): readonly StoredCredential[] {
  const isKnown = present.some(({ id }) => id === added.id);
  return isKnown ? present.map((each) => (each.id === added.id ? added : each)) : [...present, added];
}
