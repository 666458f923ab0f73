// The SQL of the audit log, to which entries are only appended.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import { type AuditEvent, type AuditRecord, auditRecord } from '#kit/audit/audit-event.js';
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Clock } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { orderedIds } from '#kit/outbox/outbox.js';
import type { CallContext } from '#client/call-context.js';
import type { AuditEvent as AuditEntry } from '#proto/auth/v1/users.js';
import type { Row } from '../../store/rows.js';
import { auditHash } from '../audit/audit-hash.js';

const columns = [
  'id',
  'at_ms',
  'actor_user_id',
  'actor_name',
  'client_address',
  'caller',
  'account_id',
  'action',
  'target_id',
  'detail',
  'number',
  'hash',
] as const;

/** Selects the entries to list; an empty text or 0 matches all. */
export interface AuditFilter {
  readonly accountId: string;
  /** The id of a user or a management key, or a part of a name. */
  readonly actor: string;
  /** Only entries of processes that acted in their own name. */
  readonly withoutUser: boolean;
  /** An action, or its part before the dot. */
  readonly action: string;
  readonly targetId: string;
  readonly fromMs: bigint;
  readonly untilMs: bigint;
}

/** Holds the number and hash of the last entry of the chain. */
export interface ChainEnd {
  readonly number: bigint;
  readonly hash: Buffer;
}

/** Stores the audit log. */
export class AuditStore implements AuditLog {
  readonly #newId = orderedIds('aud');

  constructor(
    private readonly db: Database,
    private readonly clock: Clock,
    /** Runs in the transaction in which events are appended, once for each event. */
    private readonly onAppended: (tx: Knex.Transaction, event: AuditRecord) => Promise<void> = async () => undefined,
  ) {}

  /** Appends an event of auth's own, in the transaction of the change that it describes. Call it last in the transaction: it locks the chain until the commit. */
  async append(tx: Knex.Transaction, context: Pick<CallContext, 'caller' | 'actor'>, event: AuditEvent): Promise<void> {
    const nowMs = this.clock.nowMs();
    await this.#append(tx, [auditRecord(this.#newId(nowMs), nowMs, event, context)]);
  }

  /** Appends the events of another service, in this order. Skips events that are already in the log. */
  receive(events: readonly AuditRecord[]): Promise<void> {
    return this.db.transaction((tx) => this.#append(tx, events), { isRepeatable: true });
  }

  async #append(tx: Knex.Transaction, events: readonly AuditRecord[]): Promise<void> {
    for (const event of await appendToChain(tx, events)) await this.onAppended(tx, event);
  }

  /** Returns up to `limit` entries that match, newest first, beginning after the id `after`. */
  async list(filter: AuditFilter, after: Buffer | undefined, limit: number): Promise<AuditEntry[]> {
    const query = this.db
      .knex('audit_entry')
      .orderBy('id', 'desc')
      .limit(limit)
      .select(...columns);
    if (filter.accountId !== '') query.where({ account_id: filter.accountId });
    if (filter.withoutUser) query.where({ actor_user_id: '' });
    if (['user', 'mkey'].some((prefix) => idToBytes(prefix, filter.actor) !== undefined)) query.where({ actor_user_id: filter.actor });
    // Without case only for the letters that the engine's LOWER knows; in SQLite those are ASCII letters.
    else if (filter.actor !== '')
      query.whereRaw('(INSTR(LOWER(actor_name), ?) > 0 OR INSTR(actor_name, ?) > 0)', [filter.actor.toLowerCase(), filter.actor]);
    if (filter.action.includes('.')) query.where({ action: filter.action });
    // "/" follows "." in the order of characters, so this range holds the actions that begin with the word and a dot.
    else if (filter.action !== '') query.where('action', '>=', `${filter.action}.`).where('action', '<', `${filter.action}/`);
    if (filter.targetId !== '') query.where({ target_id: filter.targetId });
    // Ids begin with their time.
    if (filter.fromMs > 0n) query.where('id', '>=', firstIdAt(filter.fromMs));
    if (filter.untilMs > 0n) query.where('id', '<', firstIdAt(filter.untilMs));
    if (after !== undefined) query.where('id', '<', after);
    const rows: Row[] = await query;
    return rows.map(toEntry);
  }

  /** Returns up to `limit` entries in the order of the chain, beginning after a number. */
  async chainedAfter(number: bigint, limit: number): Promise<AuditEntry[]> {
    const rows: Row[] = await this.db
      .knex('audit_entry')
      .where('number', '>', asNumber(number))
      .orderBy('number')
      .limit(limit)
      .select(...columns);
    return rows.map(toEntry);
  }

  /** Returns the end of the chain. */
  chainEnd(): Promise<ChainEnd> {
    return endOfChain(this.db.knex('audit_chain'));
  }
}

/** Returns the events that were not in the log before. */
async function appendToChain(tx: Knex.Transaction, events: readonly AuditRecord[]): Promise<readonly AuditRecord[]> {
  // Locking this row puts concurrent appends in order.
  const end = await endOfChain(tx('audit_chain').forUpdate());
  const ids = events.map(({ id }) => idToBytes('aud', id)!);
  const present: Row[] = await tx('audit_entry').whereIn('id', ids).select('id');
  const known = new Set(present.map((row) => idFromBytes('aud', asBytes(row['id']))));
  let { number, hash } = end;
  const rows: Record<string, unknown>[] = [];
  const added: AuditRecord[] = [];
  for (const event of events) {
    if (known.has(event.id)) continue;
    known.add(event.id);
    added.push(event);
    number += 1n;
    hash = auditHash(hash, { ...event, number });
    rows.push(toRow(event, number, hash));
  }
  if (rows.length === 0) return [];
  await tx('audit_entry').insert(rows);
  const updated = await tx('audit_chain').where({ id: 1, last_number: end.number }).update({ last_number: number, last_hash: hash });
  assert.equal(updated, 1);
  return added;
}

function toRow(event: AuditRecord, number: bigint, hash: Buffer): Record<string, unknown> {
  return {
    id: idToBytes('aud', event.id),
    at_ms: event.atMs,
    actor_user_id: event.actorUserId,
    actor_name: event.actorName,
    client_address: event.clientAddress,
    caller: event.caller,
    account_id: event.accountId,
    action: event.action,
    target_id: event.targetId,
    detail: event.detailJson,
    number,
    hash,
  };
}

async function endOfChain(query: Knex.QueryBuilder): Promise<ChainEnd> {
  const row: Row | undefined = await query.where({ id: 1 }).first('last_number', 'last_hash');
  assert(row !== undefined, 'The end of the audit log is missing.');
  return { number: asBigInt(row['last_number']), hash: asBytes(row['last_hash']) };
}

const msOf48Bits = 2n ** 48n - 1n;

function firstIdAt(ms: bigint): Buffer {
  const id = Buffer.alloc(16);
  id.writeUIntBE(Number(ms > msOf48Bits ? msOf48Bits : ms), 0, 6);
  return id;
}

function toEntry(row: Row): AuditEntry {
  return {
    id: idFromBytes('aud', asBytes(row['id'])),
    atMs: asBigInt(row['at_ms']),
    actorUserId: asText(row['actor_user_id']),
    actorName: asText(row['actor_name']),
    clientAddress: asText(row['client_address']),
    caller: asText(row['caller']),
    accountId: asText(row['account_id']),
    action: asText(row['action']),
    targetId: asText(row['target_id']),
    detailJson: asText(row['detail']),
    number: asBigInt(row['number']),
    hash: asBytes(row['hash']),
  };
}
