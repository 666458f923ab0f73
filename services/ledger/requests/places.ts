// Page tokens: opaque places between two pages of holds or entries.
import { fieldFault } from '#client/errors/fault.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { EntryPlace, HoldPlace } from '../store/pages.js';
import type { OpenHoldPlace } from '../store/reads.js';

const slotBytes = 2;
const holdBytes = slotBytes + 16 + 16;
const msBytes = 8;
const openHoldBytes = msBytes + 16;
const entryBytes = slotBytes + 16 + 8;

/** Returns the token of the page after this place; empty when there is none. */
export function holdToken(place: HoldPlace | undefined): string {
  if (place === undefined) return '';
  const bytes = Buffer.alloc(holdBytes);
  bytes.writeUInt16BE(place.slot);
  place.id.copy(bytes, slotBytes);
  place.account.copy(bytes, slotBytes + 16);
  return bytes.toString('base64url');
}

/** Returns the place of a token; undefined for the empty one. Raises invalid_request. */
export function holdPlace(token: string): HoldPlace | undefined {
  if (token === '') return undefined;
  const bytes = bytesOfToken(token, holdBytes);
  return { slot: bytes.readUInt16BE(), id: bytes.subarray(slotBytes, slotBytes + 16), account: bytes.subarray(slotBytes + 16) };
}

/** Returns the token of the page after this open hold. */
export function openHoldToken({ createdAtMs, id }: OpenHoldPlace): string {
  const bytes = Buffer.alloc(openHoldBytes);
  bytes.writeBigInt64BE(BigInt(createdAtMs));
  idToBytes('req', id)!.copy(bytes, msBytes);
  return bytes.toString('base64url');
}

/** Returns the place of a token; undefined for the empty one. Raises invalid_request. */
export function openHoldPlace(token: string): OpenHoldPlace | undefined {
  if (token === '') return undefined;
  const bytes = bytesOfToken(token, openHoldBytes);
  return { createdAtMs: Number(bytes.readBigInt64BE()), id: idFromBytes('req', bytes.subarray(msBytes)) };
}

/** Returns the token of the page after this place; empty when there is none. */
export function entryToken(place: EntryPlace | undefined): string {
  if (place === undefined) return '';
  const bytes = Buffer.alloc(entryBytes);
  bytes.writeUInt16BE(place.slot);
  place.account.copy(bytes, slotBytes);
  bytes.writeBigInt64BE(place.seq, slotBytes + 16);
  return bytes.toString('base64url');
}

/** Returns the place of a token; undefined for the empty one. Raises invalid_request. */
export function entryPlace(token: string): EntryPlace | undefined {
  if (token === '') return undefined;
  const bytes = bytesOfToken(token, entryBytes);
  const seq = bytes.readBigInt64BE(slotBytes + 16);
  if (seq > Number.MAX_SAFE_INTEGER) throw fieldFault('page_token', 'page_token');
  return { slot: bytes.readUInt16BE(), account: bytes.subarray(slotBytes, slotBytes + 16), seq };
}

function bytesOfToken(token: string, length: number): Buffer {
  const bytes = Buffer.from(token, 'base64url');
  // Decoding skips characters that are not base64url; encoding again shows whether the text was exactly a token.
  if (bytes.length !== length || bytes.toString('base64url') !== token) throw fieldFault('page_token', 'page_token');
  return bytes;
}
