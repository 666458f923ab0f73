// Calls in flight, as their last checkpoint left them.
import { strict as assert } from 'node:assert';
import type { Database } from '#kit/db/open.js';
import { asBytes, asNumber } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { TokenCounts } from '#proto/inference/v1/tokens.js';
import { CheckpointUsageRequest_Item } from '#proto/metering/v1/metering.js';
import type { PricedCall } from '../validate-call.js';
import { bytesOf } from './record-rows.js';
import { recordedIds } from './records.js';

const rowsPerStatement = 200;

/** A call in flight. */
export interface OpenCall {
  readonly call: PricedCall;
  /** As last checkpointed; they keep the rules of `validateUsage`. */
  readonly tokens: TokenCounts;
  readonly lastSeenAtMs: number;
}

/**
 * Notes that these calls are in flight and what they have used; returns the ids of those that are on record already, which are
 * not noted. The rows are written before the records are looked up: a record that is being stored then either is seen here or
 * waits for these rows and removes them.
 */
export async function putOpenCalls(db: Database, calls: readonly OpenCall[]): Promise<Set<string>> {
  // In key order, so that two gateways' batches cannot wait for each other.
  const sorted = calls.toSorted((a, b) => (a.call.id < b.call.id ? -1 : 1));
  return db.transaction(async (tx) => {
    const closed = new Set<string>();
    for (let first = 0; first < sorted.length; first += rowsPerStatement) {
      const part = sorted.slice(first, first + rowsPerStatement);
      const rows = part.map(({ call, tokens, lastSeenAtMs }) => ({
        id: bytesOf('req', call.id),
        account_id: bytesOf('acct', call.accountId),
        draft: Buffer.from(CheckpointUsageRequest_Item.encode({ call, tokens }).finish()),
        last_seen_at_ms: lastSeenAtMs,
      }));
      await tx('open_call').insert(rows).onConflict('id').merge(['draft', 'last_seen_at_ms']);
      const recorded = await recordedIds(tx, rows.map((row) => row.id));
      if (recorded.size === 0) continue;
      const left = [...recorded].map((hex) => Buffer.from(hex, 'hex'));
      await tx('open_call').whereIn('id', left).delete();
      for (const id of left) closed.add(idFromBytes('req', id));
    }
    return closed;
  });
}

/** Calls in flight that were last seen before this instant, longest ago first. */
export async function findUnseenCalls(db: Database, beforeMs: number, limit: number): Promise<OpenCall[]> {
  const rows: { draft: unknown; last_seen_at_ms: unknown }[] = await db
    .knex('open_call')
    .select('draft', 'last_seen_at_ms')
    .where('last_seen_at_ms', '<', beforeMs)
    .orderBy('last_seen_at_ms')
    .limit(limit);
  return rows.map((row) => ({ ...decodeDraft(asBytes(row.draft)), lastSeenAtMs: asNumber(row.last_seen_at_ms) }));
}

function decodeDraft(bytes: Buffer): Pick<OpenCall, 'call' | 'tokens'> {
  const { call, tokens } = CheckpointUsageRequest_Item.decode(bytes);
  assert(call !== undefined && call.price !== undefined && tokens !== undefined, 'a draft is stored whole');
  return { call: { ...call, price: call.price }, tokens };
}
