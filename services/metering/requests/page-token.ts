// Page tokens: the opaque position at which the previous page of records ended. In an order by value, a token contains the value instead of the start.
import { fieldFault } from '#client/errors/fault.js';
import { idFromBytes } from '#kit/id.js';
import type { RecordOrder } from '#proto/metering/v1/metering.js';
import { bytesOf } from '../store/records/record-rows.js';
import type { Position } from '../store/records/queries.js';

const bytesLength = 25;

/**
 * The list that a token belongs to, stored in its first byte: refused calls, or usage records in this order (0: newest first). Other lists reject the
 * token.
 */
export type TokenKind = RecordOrder | typeof ofRefusals;
export const ofRefusals = 255;

/** Returns the token of the page that follows this position. */
export function encodePageToken(kind: TokenKind, position: Position): string {
  const bytes = Buffer.alloc(bytesLength);
  bytes.writeUInt8(kind);
  bytes.writeBigInt64BE(position.startedAtMs, 1);
  bytesOf('req', position.callId).copy(bytes, 9);
  return bytes.toString('base64url');
}

/** Returns the position of a token; undefined for the empty one, which requests the first page. Raises invalid_request for any other text. */
export function decodePageToken(kind: TokenKind, token: string): Position | undefined {
  if (token === '') return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // Decoding skips characters that are not base64url; encoding again shows whether the text was exactly a token.
  if (bytes.length !== bytesLength || bytes[0] !== kind || bytes.toString('base64url') !== token) {
    throw fieldFault('page_token', 'page_token');
  }
  return { startedAtMs: bytes.readBigInt64BE(1), callId: idFromBytes('req', bytes.subarray(9)) };
}
