// Stores and opens the prompts and answers of calls. Each account has a key of its own, which the installation's secret keys encrypt: a rotation
// encrypts these keys again, and no body.
import { randomBytes } from 'node:crypto';
import { type Clock, dayMs } from '#kit/clock.js';
import type { Database } from '#kit/db/open.js';
import { asBytes, asText } from '#kit/db/values.js';
import { whenReachable } from '#kit/db/when-reachable.js';
import { idFromBytes } from '#kit/id.js';
import type { Logger } from '#kit/log.js';
import { seal, unseal } from '#kit/secrets/packed-box.js';
import { SecretBox } from '#kit/secrets/secret-box.js';
import { type SealedSecret, SecretKeeper } from '#kit/secrets/secret-keeper.js';
import type { SecretKeySource } from '#kit/secrets/secret-keys.js';
import { PromptLog, PromptLogState as State, type StorePromptLogsRequest_Entry as Entry } from '#proto/metering/v1/metering.js';
import type { MeteringConfig } from '../config.js';
import { findBody, findPromptLog, type FoundLog, keptBytesOfAll, keyOfAccount, type NewLog, putPromptLogs } from '../store/prompt-logs.js';
import { bytesOf } from '../store/records/record-rows.js';
import { type PromptLogSettings, startPromptLogSweeper } from './sweeper.js';

const keyBytes = 32;
/** More than an unpacked log can have: two bodies of the largest size that an RPC takes. */
const plainBytesMax = 2 * 1024 * 1024;

const keyPurpose = (accountId: string): string => `prompt log of ${accountId}`;

/** What logging needs beyond metering's own dependencies. */
export interface PromptLogPeers {
  /** Returns for how many days projects log prompts. */
  readonly projects: PromptLogSettings;
  /** The keys that encrypt logs at rest; the same for every replica. */
  readonly secretKeys: SecretKeySource;
  /** The id of a secret key that is permanently lost. */
  readonly lostSecretKey?: string | undefined;
}

/** The logs of one metering. */
export class PromptLogs {
  private readonly box: SecretBox;
  private readonly keeper: SecretKeeper;
  private stopSweeping = async (): Promise<void> => {};

  constructor(
    private readonly deps: PromptLogPeers & {
      readonly config: MeteringConfig;
      readonly db: Database;
      readonly clock: Clock;
      readonly log: Logger;
    },
  ) {
    const { db, secretKeys: keys, lostSecretKey: lostKeyId, log } = deps;
    this.box = new SecretBox(keys);
    this.keeper = new SecretKeeper({ service: 'metering', db, keys, read: () => readSealedSecrets(db), lostKeyId, log });
  }

  /** Starts the secret keeper and the sweeper. Raises failed_precondition when the keys of logs are encrypted with a secret key that is missing. */
  async start(): Promise<void> {
    await whenReachable(this.deps.log, () => this.keeper.start());
    this.stopSweeping = startPromptLogSweeper(this.deps);
  }

  async stop(): Promise<void> {
    await this.stopSweeping();
    await this.keeper.stop();
  }

  /** Stores valid entries of any accounts. Does nothing where the installation logs nothing. */
  async store(entries: readonly Entry[]): Promise<void> {
    const { config, db } = this.deps;
    if (!config.promptLogging) return;
    const isFull = (await keptBytesOfAll(db)) >= config.promptLogBytesMax;
    for (const accountId of new Set(entries.map((entry) => entry.accountId))) {
      const own = entries.filter((entry) => entry.accountId === accountId);
      const account = bytesOf('acct', accountId);
      for (let isStored = false; !isStored;) {
        const key = this.openKey(await keyOfAccount(db, account, () => this.newKey(accountId)), accountId);
        const logs = await Promise.all(own.map((entry) => toStore(entry, key, isFull)));
        isStored = await putPromptLogs(db, account, logs, {
          isKey: (sealed) => this.openKey(sealed, accountId).equals(key),
          bytesMax: config.promptLogBytesPerAccountMax,
        });
      }
    }
  }

  /** Returns the log of a call without its body, unless it has expired. */
  async find(callId: string): Promise<FoundLog | undefined> {
    const found = await findPromptLog(this.deps.db, bytesOf('req', callId));
    return found === undefined || found.expiresAtMs <= this.deps.clock.nowMs() ? undefined : found;
  }

  /** Returns the prompt and the answer of a call; undefined if they are not kept. */
  async open(callId: string, accountId: string): Promise<PromptLog | undefined> {
    const { db } = this.deps;
    const account = bytesOf('acct', accountId);
    const sealed = await findBody(db, account, bytesOf('req', callId));
    if (sealed === undefined) return undefined;
    const key = this.openKey(await keyOfAccount(db, account, () => this.newKey(accountId)), accountId);
    return PromptLog.decode(await unseal(sealed, key, plainBytesMax, callId));
  }

  private newKey(accountId: string): string {
    return this.box.seal(randomBytes(keyBytes).toString('base64'), keyPurpose(accountId));
  }

  private openKey(sealed: string, accountId: string): Buffer {
    const key = this.box.open(sealed, keyPurpose(accountId));
    if (key === undefined) throw new Error(`The key of the prompt log of ${accountId} cannot be decrypted.`);
    return Buffer.from(key, 'base64');
  }
}

async function toStore({ callId, projectId, startedAtMs, days, log }: Entry, key: Buffer, isFull: boolean): Promise<NewLog> {
  const isTruncated = log?.requestTruncated === true || log?.answerTruncated === true;
  const kept = isTruncated ? State.PROMPT_LOG_STATE_TRUNCATED : State.PROMPT_LOG_STATE_KEPT;
  return {
    callId: bytesOf('req', callId),
    projectId: bytesOf('proj', projectId),
    startedAtMs: Number(startedAtMs),
    expiresAtMs: Number(startedAtMs) + days * dayMs,
    state: log === undefined ? State.PROMPT_LOG_STATE_OVERLOADED : isFull ? State.PROMPT_LOG_STATE_FULL : kept,
    sealed: log === undefined || isFull ? undefined : await seal(PromptLog.encode(log).finish(), key, callId),
  };
}

/** Returns the encrypted keys of all accounts with logs. A key that a lost secret key encrypted is deleted together with its logs. */
async function readSealedSecrets({ knex }: Database): Promise<SealedSecret[]> {
  const rows = (await knex('prompt_log_account').select('account_id', 'sealed_key')) as Record<string, unknown>[];
  return rows.map((row) => {
    const account = asBytes(row['account_id']);
    const sealed = asText(row['sealed_key']);
    const key = { account_id: account, sealed_key: sealed };
    return {
      sealed,
      purpose: keyPurpose(idFromBytes('acct', account)),
      async replace(by) {
        if (by !== undefined) return void (await knex('prompt_log_account').where(key).update({ sealed_key: by }));
        for (const table of ['prompt_log_body', 'prompt_log']) await knex(table).where({ account_id: account }).delete();
        await knex('prompt_log_account').where(key).delete();
      },
    };
  });
}
