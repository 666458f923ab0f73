// The SQL of the audit log, which is only ever added to.
import assert from 'node:assert/strict';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import type { AuditEntry } from '#proto/auth/v1/people.js';
import type { Row } from '../../store/rows.js';
import { auditHash } from '../audit-hash.js';

const columns = [
  'id',
  'at_ms',
  'actor_user_id',
  'actor_name',
  'client_address',
  'account_id',
  'action',
  'target_id',
  'detail',
  'number',
  'hash',
] as const;

/** Which entries are listed; an empty text or 0 leaves that open. */
export interface AuditFilter {
  readonly accountId: string;
  /** The id of a person, or a part of a name. */
  readonly actor: string;
  /** An action, or the part of one before its dot. */
  readonly action: string;
  readonly targetId: string;
  readonly fromMs: bigint;
  readonly untilMs: bigint;
}

/** The end of the chain. */
export interface ChainEnd {
  readonly number: bigint;
  readonly hash: Buffer;
}

/** Keeps what was done. */
export class AuditStore {
  constructor(private readonly db: Database) {}

  /** Adds an entry at the end of the chain; the entry with its number and hash. Those who add at the same time wait for each other. */
  async append(given: Omit<AuditEntry, 'number' | 'hash'>): Promise<AuditEntry> {
    return this.db.transaction(async (tx) => {
      const end = await endOfChain(tx('audit_chain').forUpdate());
      const number = end.number + 1n;
      const hash = auditHash(end.hash, { ...given, number });
      await tx('audit_entry').insert({
        id: idToBytes('aud', given.id),
        at_ms: given.atMs,
        actor_user_id: given.actorUserId,
        actor_name: given.actorName,
        client_address: given.clientAddress,
        account_id: given.accountId,
        action: given.action,
        target_id: given.targetId,
        detail: given.detailJson,
        number,
        hash,
      });
      assert.equal(await tx('audit_chain').where({ id: 1, last_number: end.number }).update({ last_number: number, last_hash: hash }), 1);
      return { ...given, number, hash };
    });
  }

  /** Up to `limit` entries that match, newest first, from the one behind `after` on. */
  async list(filter: AuditFilter, after: Buffer | undefined, limit: number): Promise<AuditEntry[]> {
    const query = this.db
      .knex('audit_entry')
      .orderBy('id', 'desc')
      .limit(limit)
      .select(...columns);
    if (filter.accountId !== '') query.where({ account_id: filter.accountId });
    if (idToBytes('user', filter.actor) !== undefined) query.where({ actor_user_id: filter.actor });
    else if (filter.actor !== '') query.whereRaw('INSTR(LOWER(actor_name), ?) > 0', [filter.actor.toLowerCase()]);
    if (filter.action.includes('.')) query.where({ action: filter.action });
    // "/" follows "." in the order of characters, so these are the actions that begin with the word and a dot.
    else if (filter.action !== '') query.where('action', '>=', `${filter.action}.`).where('action', '<', `${filter.action}/`);
    if (filter.targetId !== '') query.where({ target_id: filter.targetId });
    // Ids begin with their instant.
    if (filter.fromMs > 0n) query.where('id', '>=', firstIdAt(filter.fromMs));
    if (filter.untilMs > 0n) query.where('id', '<', firstIdAt(filter.untilMs));
    if (after !== undefined) query.where('id', '<', after);
    const rows: Row[] = await query;
    return rows.map(toEntry);
  }

  /** Up to `limit` entries of the chain, in its order, behind a number. */
  async chainedAfter(number: bigint, limit: number): Promise<AuditEntry[]> {
    const rows: Row[] = await this.db
      .knex('audit_entry')
      .where('number', '>', asNumber(number))
      .orderBy('number')
      .limit(limit)
      .select(...columns);
    return rows.map(toEntry);
  }

  /** Where the chain ends. */
  chainEnd(): Promise<ChainEnd> {
    return endOfChain(this.db.knex('audit_chain'));
  }

  /** How many entries are older than the chain. */
  async countUnchained(): Promise<bigint> {
    const [row]: Row[] = await this.db.knex('audit_entry').whereNull('number').count({ entries: '*' });
    return asBigInt(row?.['entries'] ?? 0);
  }
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
    accountId: asText(row['account_id']),
    action: asText(row['action']),
    targetId: asText(row['target_id']),
    detailJson: asText(row['detail']),
    number: optional(row['number'], asBigInt) ?? 0n,
    hash: optional(row['hash'], asBytes) ?? Buffer.alloc(0),
  };
}
