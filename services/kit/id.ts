// Ids: a UUIDv7 (RFC 9562, section 5.7) as 32 hexadecimal digits after a prefix that names the type. Time-ordered, so that
// new rows go to the end of an index; 16 bytes in a database.
import { createHash, randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(4096);
let poolUsed = pool.length;

/** Returns a new id with this prefix, for example newId('acct') = "acct_0199…". */
export function newId(prefix: string, nowMs: number = Date.now()): string {
  if (poolUsed + 10 > pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const bytes = Buffer.allocUnsafe(16);
  bytes.writeUIntBE(nowMs, 0, 6);
  pool.copy(bytes, 6, poolUsed, poolUsed + 10);
  poolUsed += 10;
  return withVersion(prefix, bytes);
}

/** Returns an id with this time that follows from the text: the same time and text always have the same id. */
export function derivedId(prefix: string, atMs: number, text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes.writeUIntBE(atMs, 0, 6);
  return withVersion(prefix, bytes);
}

/** Returns the id of bytes in which the version and variant of a UUIDv7 are not set yet. */
function withVersion(prefix: string, bytes: Buffer): string {
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return `${prefix}_${bytes.toString('hex')}`;
}

const digits = /_[0-9a-f]{32}$/;

/** Reports whether the text is an id with this prefix. */
export function isId(prefix: string, text: string): boolean {
  return text.length === prefix.length + 33 && text.startsWith(prefix) && digits.test(text);
}

/** Caches the bytes of recent ids, because those of a call are needed a dozen times within milliseconds. */
const recent = new Map<string, Buffer>();
const recentMax = 4096;
/** Contains the bytes of the cached ids. Bytes in Node's pool would each keep a whole block of it, of 64 KiB, from being freed. */
let recentBytes = Buffer.allocUnsafeSlow(16 * recentMax);

/** Returns the 16 bytes of an id, which must not be changed, or undefined when the text is not an id with this prefix. */
export function idToBytes(prefix: string, text: string): Buffer | undefined {
  const known = recent.get(text);
  if (known !== undefined && text.length === prefix.length + 33 && text.startsWith(prefix)) return known;
  if (!isId(prefix, text)) return undefined;
  if (recent.size >= recentMax) {
    recent.clear();
    // The present callers may keep the bytes that they have.
    recentBytes = Buffer.allocUnsafeSlow(recentBytes.length);
  }
  const at = 16 * recent.size;
  const bytes = recentBytes.subarray(at, at + 16);
  bytes.write(text.slice(prefix.length + 1), 'hex');
  recent.set(text, bytes);
  return bytes;
}

/** Returns when an id was created, in epoch milliseconds. */
export function idTimeMs(prefix: string, id: string): number {
  return Number.parseInt(id.slice(prefix.length + 1, prefix.length + 13), 16);
}

/** Returns the id for 16 bytes from a database. */
export function idFromBytes(prefix: string, bytes: Uint8Array): string {
  return `${prefix}_${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`;
}
