// The slot of an account: a small hash that leads every key, so that tables can be split by it without looking inside rows.
import { crc32 } from 'node:zlib';
import type { Engine } from '#kit/db/open.js';

/**
 * How many slots an engine's tables have. MySQL-compatible engines are sharded and served by lanes, each a range of slots. A
 * SQLite file is never split, and with one slot its time-ordered rows go to the end of each index, where appends are cheapest.
 */
export const slotCount = { mysql: 256, sqlite: 1 } as const satisfies Record<Engine, number>;

/** The slot of an account, by the 16 bytes of its id. Never to be changed: rows are found by it. */
export function slotOf(accountBytes: Uint8Array, engine: Engine): number {
  return crc32(accountBytes) % slotCount[engine];
}
