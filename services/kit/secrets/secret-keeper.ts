// Keeps the secrets in a service's database sealed with the current key, and keeps the service from starting without the keys that it needs.
import { AppError } from '#client/errors/app-error.js';
import { optionalForm } from '../config/forms.js';
import type { Database } from '../db/open.js';
import type { Logger } from '../log.js';
import { reportSecretKeys, type SecretKeyState } from '../process/process-info.js';
import { repeat } from '../scheduling/repeat.js';
import { SecretBox, sealedWith } from './secret-box.js';
import { isSecretKeyId } from './secret-key.js';
import type { SecretKeySource } from './secret-keys.js';

/** A secret in the database. */
export interface SealedSecret {
  readonly sealed: string;
  readonly purpose: string;
  /** Replaces it, or discards it (undefined), unless it was changed meanwhile. */
  replace(sealed: string | undefined): Promise<void>;
}

/** Options of `SecretKeeper`. */
export interface SecretKeeperOptions {
  /** "inference": whose secrets they are, for messages. */
  readonly service: string;
  readonly db: Database;
  readonly keys: SecretKeySource;
  /** Returns all secrets in the database. */
  readonly read: () => Promise<SealedSecret[]>;
  /** The id of a key that is permanently lost: what is sealed with it is discarded. */
  readonly lostKeyId: string | undefined;
  readonly log: Logger;
}

/** The setting of every process with secrets. */
export const lostSecretKey = optionalForm(
  'TOLLGATE_LOST_SECRET_KEY',
  'id of a secret key that is permanently lost; at startup, everything encrypted with it is discarded: credentials of upstreams, secrets of webhooks, signing keys, second factors, undelivered emails, logged prompts and answers',
  (value) => {
    if (!isSecretKeyId(value)) throw new Error('must be the id of a secret key: eight hexadecimal digits');
    return value;
  },
);

/** How often the key file is checked. */
const checkMs = 5000;
/** How often secrets are sealed again while there are several keys, because another process may still seal with an old one. */
const resealMs = 60_000;

/** Checks the keys at the start, and seals secrets again when the current key changes. */
export class SecretKeeper {
  private readonly box: SecretBox;
  private sealedFor = '';
  private dueAtMs = 0;
  private stopRepeating: () => Promise<void> = async () => {};

  constructor(private readonly options: SecretKeeperOptions) {
    this.box = new SecretBox(options.keys);
    reportSecretKeys(options.db, options.service, () => this.states());
  }

  /**
   * Creates the key of a new installation. Raises failed_precondition when the database has secrets whose key is missing: a new key could
   * not open them.
   */
  async start(): Promise<void> {
    const { keys, log } = this.options;
    await this.discardLost();
    const missing = [...(await this.count())].filter(([id]) => keys.find(id) === undefined);
    if (missing.length > 0) throw this.missingKeys(missing);
    if (keys.ids().length === 0) keys.create();
    await this.reseal();
    this.stopRepeating = repeat(
      checkMs,
      () => this.check(),
      (error) => log.error({ err: error, file: keys.place }, 'secrets could not be encrypted with the current key; this will be retried'),
    );
  }

  async stop(): Promise<void> {
    await this.stopRepeating();
  }

  private async check(): Promise<void> {
    const { keys } = this.options;
    keys.reload();
    const isChanged = this.sealedFor !== keys.ids().join();
    if (isChanged || (keys.ids().length > 1 && performance.now() >= this.dueAtMs)) await this.reseal();
  }

  private async reseal(): Promise<void> {
    const { keys, read, service, log } = this.options;
    const { id: currentId } = keys.current();
    let resealed = 0;
    for (const { sealed, purpose, replace } of await read()) {
      if (sealedWith(sealed) === currentId) continue;
      const text = this.box.open(sealed, purpose);
      // A row that was tampered with is left as it is; its next use reports it.
      if (text === undefined) continue;
      await replace(this.box.seal(text, purpose));
      resealed += 1;
    }
    if (resealed > 0) log.info({ service, secrets: resealed, key_id: currentId }, 'secrets were encrypted again with the current key');
    this.sealedFor = keys.ids().join();
    this.dueAtMs = performance.now() + resealMs;
  }

  private async states(): Promise<SecretKeyState[]> {
    const counts = await this.count();
    return this.options.keys.ids().map((id, index) => ({ id, current: index === 0, sealed: BigInt(counts.get(id) ?? 0) }));
  }

  private async count(): Promise<Map<string, number>> {
    const counts = new Map<string, number>();
    for (const { sealed } of await this.options.read()) counts.set(sealedWith(sealed), (counts.get(sealedWith(sealed)) ?? 0) + 1);
    return counts;
  }

  private async discardLost(): Promise<void> {
    const { lostKeyId, keys, read, service, log } = this.options;
    if (lostKeyId === undefined || keys.find(lostKeyId) !== undefined) return;
    const lost = (await read()).filter(({ sealed }) => sealedWith(sealed) === lostKeyId);
    for (const { replace } of lost) await replace(undefined);
    if (lost.length > 0) log.warn({ service, secrets: lost.length, key_id: lostKeyId }, 'secrets of a lost key were discarded');
  }

  private missingKeys(missing: readonly (readonly [string, number])[]): AppError {
    const { service, keys } = this.options;
    const secrets = missing.map(([id, count]) => `${count} with the key ${id}`).join(', ');
    const has = keys.ids().length === 0 ? 'does not exist' : `has only ${keys.ids().join(', ')}`;
    return new AppError(
      'failed_precondition',
      `The database of ${service} has secrets that are encrypted (${secrets}), but the secret key file ${keys.place} ${has}. ` +
        `Restore the file from your copy. If it is permanently lost, set TOLLGATE_LOST_SECRET_KEY=${missing[0]![0]} ` +
        'to discard these secrets; docs/backup.md says which.',
    );
  }
}
