// The only SQL of the catalog.
import assert from 'node:assert';
import type { Knex } from 'knex';
import type { AuditEvent } from '#kit/audit/audit-event.js';
import type { AuditLog } from '#kit/audit/audit-outbox.js';
import type { Database } from '#kit/db/open.js';
import { asBigInt } from '#kit/db/values.js';
import type { CallContext } from '#client/call-context.js';
import type { PriceDraft, PriceVersion } from '#proto/catalog/v1/catalog.js';
import {
  draftColumns,
  draftFromRow,
  draftToRow,
  modelColumns,
  modelFromRow,
  modelToRow,
  priceColumns,
  priceFromRow,
  priceToRow,
  type StoredModel,
} from './rows.js';

/** Holds the catalog as stored at one revision, with the prices that matter at `asOfMs` or later. */
export interface StoredCatalog {
  readonly revision: bigint;
  readonly asOfMs: number;
  readonly models: readonly StoredModel[];
  /** For each model the one in force at `asOfMs` and all that start later. */
  readonly prices: readonly PriceVersion[];
}

/** Reads and changes the catalog's tables. */
export class CatalogStore {
  constructor(
    private readonly db: Database,
    private readonly auditLog: AuditLog,
  ) {}

  /** Returns the revision, which grows by one with every change, whichever replica made it. Reads one row by its key, which is cheap enough to poll. */
  async revision(): Promise<bigint> {
    const [row] = await this.db.query('SELECT revision FROM catalog_state WHERE id = 1', []);
    return asBigInt(row?.['revision']);
  }

  /** Returns the whole catalog. The revision is read first, so what follows is at least as new and a later change is never missed. */
  async load(nowMs: number): Promise<StoredCatalog> {
    const revision = await this.revision();
    const models = await this.models();
    const startInForce = this.db
      .knex('price_version as other')
      .max('other.effective_from_ms')
      .where('other.model_id', this.db.knex.ref('price_version.model_id'))
      .where('other.effective_from_ms', '<=', nowMs);
    const prices = await this.db
      .knex('price_version')
      .select(priceColumns)
      .where('effective_from_ms', '>', nowMs)
      .orWhere('effective_from_ms', '=', startInForce);
    return { revision, asOfMs: nowMs, models, prices: prices.map(priceFromRow) };
  }

  models(): Promise<StoredModel[]> {
    return readModels(this.db.knex);
  }

  /** Returns all price versions of a model, latest start first. */
  prices(modelId: string): Promise<PriceVersion[]> {
    return readPrices(this.db.knex, modelId);
  }

  /** Returns all drafts, in the order of their models' ids. */
  async drafts(): Promise<PriceDraft[]> {
    const rows = await this.db.knex('price_draft').select(draftColumns).orderBy('model_id');
    return rows.map(draftFromRow);
  }

  /** Returns the draft of a model; undefined when there is none. */
  draft(modelId: string): Promise<PriceDraft | undefined> {
    return readDraft(this.db.knex, modelId);
  }

  /**
   * Runs `work` in a transaction in which no other change happens, on any replica, so that what it reads stays valid until it
   * commits. The revision grows when `work` wrote something.
   */
  change<T>(work: (change: CatalogChange) => Promise<T>): Promise<T> {
    return this.db.transaction(async (tx) => {
      const revision = (await readRevision(tx('catalog_state').forUpdate())) + 1n;
      const change = new CatalogChange(tx, this.auditLog, revision);
      const result = await work(change);
      if (change.written) await tx('catalog_state').where({ id: stateId }).update({ revision });
      return result;
    });
  }
}

/** Reads and writes within one change. There is no method to alter or remove a price version. */
export class CatalogChange {
  /** Whether anything was written. */
  written = false;

  constructor(
    private readonly tx: Knex.Transaction,
    private readonly auditLog: AuditLog,
    /** The catalog's next revision if anything is written: larger than in every previous change. */
    readonly revision: bigint,
  ) {}

  /** Adds an audit event that describes the change. */
  audit(context: CallContext, event: AuditEvent): Promise<void> {
    return this.auditLog.append(this.tx, context, event);
  }

  models(): Promise<StoredModel[]> {
    return readModels(this.tx);
  }

  /** Returns all price versions of a model, latest start first. */
  prices(modelId: string): Promise<PriceVersion[]> {
    return readPrices(this.tx, modelId);
  }

  async insertModel(stored: StoredModel): Promise<void> {
    await this.tx('model').insert({ ...modelToRow(stored), revision: this.revision });
    this.written = true;
  }

  /** Replaces all fields of the model with this id. */
  async updateModel(stored: StoredModel): Promise<void> {
    const { id, ...fields } = modelToRow(stored);
    const changed = await this.tx('model')
      .where({ id })
      .update({ ...fields, revision: this.revision });
    assert.equal(changed, 1, 'the model to update exists');
    this.written = true;
  }

  /** Inserts a price version; `draftVersion` is the version of the draft it came from. */
  async insertPrice(price: PriceVersion, draftVersion?: bigint): Promise<void> {
    await this.tx('price_version').insert({ ...priceToRow(price), draft_version: draftVersion ?? null });
    this.written = true;
  }

  /** Returns the price version created from the draft of this version; undefined when there is none. */
  async priceOfDraft(modelId: string, draftVersion: bigint): Promise<PriceVersion | undefined> {
    const row = await this.tx('price_version').select(priceColumns).where({ model_id: modelId, draft_version: draftVersion }).first();
    return row === undefined ? undefined : priceFromRow(row);
  }

  /** Returns the draft of a model; undefined when there is none. */
  draft(modelId: string): Promise<PriceDraft | undefined> {
    return readDraft(this.tx, modelId);
  }

  /** Stores the draft of its model, replacing the present one. */
  async putDraft(draft: PriceDraft): Promise<void> {
    const { model_id, ...fields } = draftToRow(draft);
    const changed = await this.tx('price_draft').where({ model_id }).update(fields);
    if (changed === 0) await this.tx('price_draft').insert({ model_id, ...fields });
    this.written = true;
  }

  /** Removes the draft of a model; returns false when there is none. */
  async removeDraft(modelId: string): Promise<boolean> {
    const removed = await this.tx('price_draft').where({ model_id: modelId }).delete();
    this.written ||= removed > 0;
    return removed > 0;
  }
}

const stateId = 1;

async function readRevision(table: Knex.QueryBuilder): Promise<bigint> {
  const row = await table.where({ id: stateId }).select('revision').first();
  return asBigInt(row.revision);
}

async function readModels(knex: Knex): Promise<StoredModel[]> {
  const rows = await knex('model').select(modelColumns).orderBy('id');
  return rows.map(modelFromRow);
}

async function readPrices(knex: Knex, modelId: string): Promise<PriceVersion[]> {
  const rows = await knex('price_version').select(priceColumns).where({ model_id: modelId }).orderBy('effective_from_ms', 'desc');
  return rows.map(priceFromRow);
}

async function readDraft(knex: Knex, modelId: string): Promise<PriceDraft | undefined> {
  const row = await knex('price_draft').select(draftColumns).where({ model_id: modelId }).first();
  return row === undefined ? undefined : draftFromRow(row);
}
