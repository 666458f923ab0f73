// The SQL of alerts.
import type { Knex } from 'knex';
import { isDuplicate } from '#kit/db/errors.js';
import type { Database } from '#kit/db/open.js';
import type { Row } from '#kit/db/plain/plain-transaction.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes } from '#kit/id.js';
import type { Outbox } from '#kit/outbox/outbox.js';
import type { NotificationEntry } from '#proto/auth/v1/notifications.js';
import { mailLanguage } from '#rules/mail-language.js';
import { accountColumns, accountScope } from '../../store/rows.js';
import type { AlertRecord, Money } from '../model.js';

const columns = [
  'account_id',
  'enabled',
  'threshold_nano_usd',
  'emails',
  'language',
  'fired',
  'fired_at_ms',
  'hour_began_ms',
  'hour_messages',
  'version',
  'updated_at_ms',
];

/** Holds what decides whether an alert fires. */
export interface Watched {
  readonly alert: AlertRecord;
  readonly money: Money;
}

const watchedColumns = [
  'alert.slot',
  ...columns.map((column) => `alert.${column}`),
  'bucket.cap_nano_usd',
  'bucket.spent_nano_usd',
  'bucket.held_nano_usd',
];
const watchedPage = (after: string): string =>
  `SELECT ${watchedColumns.join(', ')} FROM alert` +
  ' LEFT JOIN bucket ON bucket.slot = alert.slot AND bucket.account_id = alert.account_id AND bucket.scope_id = ?' +
  ` ${after} ORDER BY alert.slot, alert.account_id LIMIT ?`;

/** Holds the place where a page of alerts ended. */
export interface AlertPlace {
  readonly slot: number;
  readonly account: Buffer;
}

/** Reads and writes alerts in a database. */
export class AlertStore {
  constructor(
    private readonly db: Database,
    private readonly outbox: Pick<Outbox<NotificationEntry>, 'add'>,
  ) {}

  /** Returns an account's alert; undefined if it was never set. */
  async find(accountId: string): Promise<AlertRecord | undefined> {
    const row: Row | undefined = await this.db
      .knex('alert')
      .select(...columns)
      .where(accountColumns(accountId, this.db.engine))
      .first();
    return row === undefined ? undefined : toAlert(row);
  }

  /** Returns at most `limit` alerts after a place, in key order, with the money of their accounts, and the place where they end. */
  async watched(after: AlertPlace | undefined, limit: number): Promise<{ watched: Watched[]; end: AlertPlace | undefined }> {
    const rows =
      after === undefined
        ? await this.db.query(watchedPage(''), [accountScope, limit])
        : await this.db.query(watchedPage('WHERE alert.slot > ? OR (alert.slot = ? AND alert.account_id > ?)'), [
            accountScope,
            after.slot,
            after.slot,
            after.account,
            limit,
          ]);
    const last = rows.length < limit ? undefined : rows.at(-1);
    return {
      watched: rows.map((row) => ({ alert: toAlert(row), money: moneyOf(row) })),
      end: last === undefined ? undefined : { slot: asNumber(last['slot']), account: asBytes(last['account_id']) },
    };
  }

  /**
   * Stores the result of applying `change` to the current alert, and returns it. Of two concurrent changes, the second sees the first. `record` runs in
   * the same transaction, for the audit event and the notifications of the change.
   */
  async put(
    accountId: string,
    change: (present: AlertRecord | undefined) => AlertRecord,
    record: (tx: Knex.Transaction, before: AlertRecord | undefined, after: AlertRecord) => Promise<void>,
  ): Promise<AlertRecord> {
    const store = () =>
      this.db.transaction(async (tx) => {
        const key = accountColumns(accountId, this.db.engine);
        const row: Row | undefined = await tx('alert')
          .select(...columns)
          .where(key)
          .forUpdate()
          .first();
        const before = row === undefined ? undefined : toAlert(row);
        const alert = change(before);
        if (row === undefined) await tx('alert').insert({ slot: key.slot, ...fromAlert(alert, key.account_id) });
        else await tx('alert').where(key).update(fromAlert(alert, key.account_id));
        await record(tx, before, alert);
        return alert;
      });
    return store().catch((error: unknown) => {
      // Another caller set the first alert meanwhile; now there is a row to lock.
      if (isDuplicate(error)) return store();
      throw error;
    });
  }

  /** Records that the alert fired, with its notifications, unless it was changed or fired since it was read: only one of many processes succeeds. */
  async fire(
    { accountId, version, firedAtMs, hourBeganMs, hourMessages }: AlertRecord,
    entries: readonly NotificationEntry[],
  ): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      const fields = { fired: 1, fired_at_ms: firedAtMs, hour_began_ms: hourBeganMs, hour_messages: hourMessages };
      if (!(await this.step(tx, accountId, version, fields))) return false;
      await this.outbox.add(tx, entries);
      return true;
    });
  }

  /**
   * Creates the notifications of an account and counts its mails. `alert` is undefined for an account without one. Returns false, and sends nothing, if
   * the alert was changed since it was read, or if `claim`, which runs in the same transaction, returns false because another process has sent them.
   */
  async send(
    alert: AlertRecord | undefined,
    entries: readonly NotificationEntry[],
    claim: (tx: Knex.Transaction) => Promise<boolean> = async () => true,
  ): Promise<boolean> {
    const unchanged = new Error('Another process was first.');
    return this.db
      .transaction(async (tx) => {
        if (!(await claim(tx))) return false;
        if (alert !== undefined) {
          const { accountId, version, hourBeganMs, hourMessages } = alert;
          if (!(await this.step(tx, accountId, version, { hour_began_ms: hourBeganMs, hour_messages: hourMessages }))) throw unchanged;
        }
        await this.outbox.add(tx, entries);
        return true;
      })
      .catch((error: unknown) => {
        if (error === unchanged) return false;
        throw error;
      });
  }

  /** Rearms a fired alert, unless it was changed since it was read. */
  async rearm({ accountId, version }: AlertRecord): Promise<boolean> {
    return this.step(this.db.knex, accountId, version, { fired: 0 });
  }

  private async step(knex: Knex, accountId: string, version: number, fields: Row): Promise<boolean> {
    const changed = await knex('alert')
      .where({ ...accountColumns(accountId, this.db.engine), version })
      .update({ ...fields, version: version + 1 });
    return changed === 1;
  }
}

function moneyOf(row: Row): Money {
  const amount = (column: string): bigint => asBigInt(row[column] ?? 0n);
  const settledNanoUsd = amount('cap_nano_usd') - amount('spent_nano_usd');
  return { settledNanoUsd, availableNanoUsd: settledNanoUsd - amount('held_nano_usd') };
}

function toAlert(row: Row): AlertRecord {
  return {
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    enabled: asNumber(row['enabled']) === 1,
    thresholdNanoUsd: asBigInt(row['threshold_nano_usd']),
    emails: JSON.parse(asText(row['emails'])) as string[],
    language: mailLanguage(asText(row['language'])),
    fired: asNumber(row['fired']) === 1,
    firedAtMs: asNumber(row['fired_at_ms']),
    hourBeganMs: asNumber(row['hour_began_ms']),
    hourMessages: asNumber(row['hour_messages']),
    version: asNumber(row['version']),
    updatedAtMs: asNumber(row['updated_at_ms']),
  };
}

function fromAlert(alert: AlertRecord, account: Buffer): Row {
  return {
    account_id: account,
    enabled: alert.enabled ? 1 : 0,
    threshold_nano_usd: alert.thresholdNanoUsd,
    emails: JSON.stringify(alert.emails),
    language: alert.language,
    fired: alert.fired ? 1 : 0,
    fired_at_ms: alert.firedAtMs,
    hour_began_ms: alert.hourBeganMs,
    hour_messages: alert.hourMessages,
    version: alert.version,
    updated_at_ms: alert.updatedAtMs,
  };
}
