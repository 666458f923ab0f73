// Page tokens: the opaque position at which the previous page of records ended. In an order by value, a token contains the value instead of the start.
import { fieldFault } from '#client/errors/fault.js';
import { idFromBytes } from '#kit/id.js';
import { bytesOf } from '../store/records/record-rows.js';
import type { Position } from '../store/records/queries.js';

const bytesLength = 24;

/** Returns the token of the page that follows this position. */
export function encodePageToken(position: Position): string {
  const bytes = Buffer.alloc(bytesLength);
  bytes.writeBigInt64BE(position.startedAtMs);
  bytesOf('req', position.callId).copy(bytes, 8);
  return bytes.toString('base64url');
}

/** Returns the position of a token; undefined for the empty one, which requests the first page. Raises invalid_request for any other text. */
export function decodePageToken(token: string): Position | undefined {
  if (token === '') return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // Decoding skips characters that are not base64url; encoding again shows whether the text was exactly a token.
  if (bytes.length !== bytesLength || bytes.toString('base64url') !== token) {
    throw fieldFault('page_token', 'page_token');
  }
  return { startedAtMs: bytes.readBigInt64BE(), callId: idFromBytes('req', bytes.subarray(8)) };
}
