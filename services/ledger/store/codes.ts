// The SQL of redemption codes, and of how many attempts of an account were refused. A code belongs to no account until it is redeemed, so its
// slot is that of its hash.
import type { Knex } from 'knex';
import type { Database, Engine } from '#kit/db/open.js';
import { isDuplicate } from '#kit/db/errors.js';
import type { PlainTransaction, Row } from '#kit/db/plain/plain-transaction.js';
import { Table, type Values } from '#kit/db/plain/table.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import { RedemptionCodeState as State } from '#proto/ledger/v1/ledger.js';
import { slotOf } from '../books/slot.js';
import { accountColumns, bytesOf } from './rows.js';

const codeTable = new Table('redemption_code', {
  key: ['slot', 'hash'],
  fixed: ['id', 'batch_id', 'batch_number', 'last_four', 'amount_nano_usd', 'expires_at_ms', 'note', 'created_by', 'created_at_ms'],
  changing: ['state', 'account_id', 'result_seq', 'ended_at_ms'],
});

/** Holds a code as it is stored. */
export interface CodeRecord {
  readonly hash: Buffer;
  readonly id: string;
  readonly batchId: string;
  /** Its position in its batch, from 0. */
  readonly batchNumber: number;
  readonly lastFour: string;
  readonly amountNanoUsd: bigint;
  readonly expiresAtMs: number | undefined;
  readonly note: string;
  readonly createdBy: string;
  readonly createdAtMs: number;
  readonly state: State;
  /** The account that claimed it. */
  readonly accountId: string | undefined;
  /** Number of the deposit's entry; 0 before the deposit. */
  readonly resultSeq: bigint;
  readonly endedAtMs: number | undefined;
}

/** Reads and writes codes in a database. Every change of a state is conditional on the state that it changes. */
export class Codes {
  constructor(private readonly db: Database) {}

  /** Adds codes, all or none. Raises the driver's duplicate error when the batch exists. `audit` runs in the same transaction. */
  async add(codes: readonly CodeRecord[], audit: (tx: PlainTransaction) => Promise<void>): Promise<void> {
    await this.db.plainTransaction(async (tx: PlainTransaction) => {
      await tx.insert(
        codeTable,
        codes.map((code) => fromCode(code, tx.engine)),
      );
      await audit(tx);
    });
  }

  /** Returns the code whose secret has this hash; undefined if there is none. */
  async byHash(hash: Buffer, knex: Knex = this.db.knex): Promise<CodeRecord | undefined> {
    const row: Row | undefined = await this.codes(knex).where(this.keyOf(hash)).first();
    return row === undefined ? undefined : toCode(codeTable.valuesOf(row));
  }

  /** Returns the codes of a batch, in the order in which they were created. */
  async ofBatch(batchId: string): Promise<CodeRecord[]> {
    const rows: Row[] = await this.codes()
      .where({ batch_id: bytesOf('batch', batchId) })
      .orderBy('batch_number');
    return rows.map((row) => toCode(codeTable.valuesOf(row)));
  }

  /** Returns codes older than this one, newest first. */
  async before(id: string | undefined, filter: { state: State; batchId: string }, limit: number): Promise<CodeRecord[]> {
    const query = this.codes().orderBy('id', 'desc').limit(limit);
    if (id !== undefined) query.where('id', '<', bytesOf('code', id));
    if (filter.state !== State.REDEMPTION_CODE_STATE_UNSPECIFIED) query.where({ state: filter.state });
    if (filter.batchId !== '') query.where({ batch_id: bytesOf('batch', filter.batchId) });
    const rows: Row[] = await query;
    return rows.map((row) => toCode(codeTable.valuesOf(row)));
  }

  /** Assigns an open code that has not expired to an account; returns whether this call did it. Only one of many concurrent calls succeeds. */
  async claim(hash: Buffer, accountId: string, nowMs: number, knex: Knex = this.db.knex): Promise<boolean> {
    const changed = await knex('redemption_code')
      .where({ ...this.keyOf(hash), state: State.REDEMPTION_CODE_STATE_OPEN })
      .where((valid) => valid.whereNull('expires_at_ms').orWhere('expires_at_ms', '>', nowMs))
      .update({ state: State.REDEMPTION_CODE_STATE_CLAIMED, account_id: bytesOf('acct', accountId), ended_at_ms: nowMs });
    return changed === 1;
  }

  /** Records the deposit made with a claimed code. */
  async complete(hash: Buffer, seq: bigint): Promise<void> {
    await this.db
      .knex('redemption_code')
      .where({ ...this.keyOf(hash), state: State.REDEMPTION_CODE_STATE_CLAIMED })
      .update({ state: State.REDEMPTION_CODE_STATE_REDEEMED, result_seq: Number(seq) });
  }

  /** Returns claimed codes whose deposit is not recorded, claimed at or before this instant: those after this id, oldest first. */
  async claimedUntil(ms: number, afterId: string | undefined, limit: number): Promise<CodeRecord[]> {
    const rows = await this.db.query(
      `SELECT ${codeTable.columns.join(', ')} FROM redemption_code` +
        ` WHERE state = ${State.REDEMPTION_CODE_STATE_CLAIMED} AND id > ? AND ended_at_ms <= ? ORDER BY id LIMIT ?`,
      [afterId === undefined ? Buffer.alloc(16) : bytesOf('code', afterId), ms, limit],
    );
    return rows.map((row) => toCode(codeTable.valuesOf(row)));
  }

  /** Voids open codes; returns how many. `audit` runs in the same transaction, unless there were none. */
  async void(
    which: { id: string } | { batchId: string },
    nowMs: number,
    audit: (tx: Knex.Transaction, voided: number) => Promise<void>,
  ): Promise<number> {
    const named = 'id' in which ? { id: bytesOf('code', which.id) } : { batch_id: bytesOf('batch', which.batchId) };
    return this.db.transaction(async (tx) => {
      const voided = await tx('redemption_code')
        .where({ ...named, state: State.REDEMPTION_CODE_STATE_OPEN })
        .update({ state: State.REDEMPTION_CODE_STATE_VOID, ended_at_ms: nowMs });
      if (voided > 0) await audit(tx, voided);
      return voided;
    });
  }

  /** Returns a code by its id; undefined if there is none. */
  async byId(id: string): Promise<CodeRecord | undefined> {
    const row: Row | undefined = await this.codes()
      .where({ id: bytesOf('code', id) })
      .first();
    return row === undefined ? undefined : toCode(codeTable.valuesOf(row));
  }

  /**
   * Runs an attempt of an account to claim a code, and counts one without a code as refused. After `max` refusals in a window it does not run, and the end
   * of the window is returned. An account's attempts are counted one after another, so that guesses at the same time cannot exceed the limit.
   */
  async attempt(
    accountId: string,
    nowMs: number,
    { max, windowMs }: { readonly max: number; readonly windowMs: number },
    claim: (tx: Knex.Transaction) => Promise<CodeRecord | undefined>,
  ): Promise<{ readonly code?: CodeRecord | undefined; readonly throttledUntilMs?: number }> {
    const key = accountColumns(accountId, this.db.engine);
    const run = () =>
      this.db.transaction(async (tx) => {
        const row: Row | undefined = await tx('redemption_refusal').where(key).forUpdate().first('since_ms', 'refusals');
        const before = { since_ms: asNumber(row?.['since_ms'] ?? 0), refusals: asNumber(row?.['refusals'] ?? 0) };
        // A window that began later than now was counted while the clock was ahead.
        const present = Math.abs(nowMs - before.since_ms) < windowMs ? before : { since_ms: nowMs, refusals: 0 };
        if (present.refusals >= max) return { throttledUntilMs: present.since_ms + windowMs };
        const code = await claim(tx);
        if (code !== undefined) return { code };
        const counted = { ...present, refusals: present.refusals + 1 };
        if (row === undefined) await tx('redemption_refusal').insert({ ...key, ...counted });
        else await tx('redemption_refusal').where(key).update(counted);
        return {};
      });
    return run().catch((error: unknown) => {
      // Another attempt was the first to be refused; now there is a row to lock.
      if (isDuplicate(error)) return run();
      throw error;
    });
  }

  private codes(knex: Knex = this.db.knex) {
    return knex('redemption_code').select(...codeTable.columns);
  }

  private keyOf(hash: Buffer): { slot: number; hash: Buffer } {
    return { slot: slotOf(hash, this.db.engine), hash };
  }
}

function fromCode(code: CodeRecord, engine: Engine): Values {
  return [
    slotOf(code.hash, engine),
    code.hash,
    bytesOf('code', code.id),
    bytesOf('batch', code.batchId),
    code.batchNumber,
    code.lastFour,
    code.amountNanoUsd,
    code.expiresAtMs ?? null,
    code.note,
    code.createdBy,
    code.createdAtMs,
    code.state,
    code.accountId === undefined ? null : bytesOf('acct', code.accountId),
    code.resultSeq,
    code.endedAtMs ?? null,
  ];
}

function toCode(row: Values): CodeRecord {
  const [, hash, id, batch, number, lastFour, amount, expiresAt, note, createdBy, createdAt, state, account, resultSeq, endedAt] = row;
  return {
    hash: asBytes(hash),
    id: idFromBytes('code', asBytes(id)),
    batchId: idFromBytes('batch', asBytes(batch)),
    batchNumber: asNumber(number),
    lastFour: asText(lastFour),
    amountNanoUsd: asBigInt(amount),
    expiresAtMs: optional(expiresAt, asNumber),
    note: asText(note),
    createdBy: asText(createdBy),
    createdAtMs: asNumber(createdAt),
    state: asNumber(state),
    accountId: optional(account, (value) => idFromBytes('acct', asBytes(value))),
    resultSeq: asBigInt(resultSeq),
    endedAtMs: optional(endedAt, asNumber),
  };
}
