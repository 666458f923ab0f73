// The slot of an account: a small hash that leads every key, so that tables can be sharded by it without reading the rows.
import { crc32 } from 'node:zlib';
import type { Engine } from '#kit/db/open.js';

/**
 * The number of slots per engine. MySQL-compatible engines are sharded and served by lanes, each a range of slots. A
 * SQLite file is never split, and with one slot its time-ordered rows go to the end of each index, where appends are cheapest.
 */
export const slotCount = { mysql: 256, sqlite: 1 } as const satisfies Record<Engine, number>;

/** Returns the slot of an account, by the 16 bytes of its id. It must never change: rows are found by it. */
export function slotOf(accountBytes: Uint8Array, engine: Engine): number {
  return crc32(accountBytes) % slotCount[engine];
}
