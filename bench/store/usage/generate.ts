// Generates the usage records of two customers over months, with the store's own columns and values, many per statement.
import { insertText } from '#kit/db/plain/sql-text.js';
import type { Database } from '#kit/db/open.js';
import { asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes, newId } from '#kit/id.js';
import { ApiFormat } from '#proto/inference/v1/inference.js';
import { PriceVersion } from '#proto/catalog/v1/catalog.js';
import type { KnownOutcome } from '#rules/money/outcomes.js';
import { Call, Outcome, UsageSource } from '#proto/metering/v1/metering.js';
import { allRecordColumns, recordValues } from '#services/metering/store/records/record-rows.js';
import { type PricedRecord, priceRecord } from '#services/metering/records/usage-record.js';
import type { PricedCall } from '#services/metering/requests/validate-call.js';
import { randomOf } from '../../random.ts';

const dayMs = 86_400_000;
const rowsPerTransaction = 10_000;
/** SQLite uses a prepared statement for one row; a statement to MariaDB is a round trip. */
const rowsPerStatement = { sqlite: 1, mysql: 500 };

/** The percentage of calls with each outcome. */
const outcomes: readonly (readonly [KnownOutcome, number])[] = [
  [Outcome.OUTCOME_COMPLETED, 88],
  [Outcome.OUTCOME_MAX_TOKENS, 5],
  [Outcome.OUTCOME_CLIENT_DISCONNECTED, 4],
  [Outcome.OUTCOME_UPSTREAM_ERROR_BEFORE_OUTPUT, 2],
  [Outcome.OUTCOME_UPSTREAM_ERROR_AFTER_OUTPUT, 1],
];

/** The accounts, keys, models and time range of the calls. */
export interface History {
  readonly accounts: readonly { readonly id: string; readonly keys: readonly string[] }[];
  readonly models: readonly string[];
  readonly fromMs: number;
  readonly untilMs: number;
}

/** Returns accounts with ten keys each, fifteen models, and the given number of days until now. */
export function historyOf(days: number, nowMs: number, accountCount = 2): History {
  const accounts = Array.from({ length: accountCount }, () => ({
    id: newId('acct'),
    keys: Array.from({ length: 10 }, () => newId('key')),
  }));
  return {
    accounts,
    models: Array.from({ length: 15 }, (_, index) => `vendor/model-${index + 1}`),
    fromMs: nowMs - days * dayMs,
    untilMs: nowMs,
  };
}

/** Returns the history of existing records: accounts, keys and models, those with the most records first. */
export async function historyIn(db: Database): Promise<History> {
  const busiest = async (column: string, accountId?: Buffer): Promise<unknown[]> => {
    const query = db.knex('usage_record').select(column).count({ calls: '*' }).groupBy(column).orderBy('calls', 'desc');
    const rows = (await (accountId === undefined ? query : query.where({ account_id: accountId }))) as Record<string, unknown>[];
    return rows.map((row) => row[column]);
  };
  const account = asBytes((await busiest('account_id'))[0]);
  const keys = (await busiest('key_id', account)).map((id) => idFromBytes('key', asBytes(id)));
  const models = (await busiest('model_id', account)).map(asText);
  const [ends] = (await db.knex('usage_record').min({ first: 'started_at_ms' }).max({ last: 'started_at_ms' })) as {
    first: unknown;
    last: unknown;
  }[];
  return { accounts: [{ id: idFromBytes('acct', account), keys }], models, fromMs: asNumber(ends!.first), untilMs: asNumber(ends!.last) };
}

/** The last of this many consecutive records belongs to the second account. */
const recordsOfTurn = 11;

/**
 * Stores `recordsOfFirst` settled records of the first account and a tenth as many of the second, in the order of their starts, evenly spread
 * over the time range. Some keys and models are used more than others.
 */
export async function generate(db: Database, history: History, recordsOfFirst: number): Promise<void> {
  const records = Math.floor((recordsOfFirst * recordsOfTurn) / (recordsOfTurn - 1));
  const random = randomOf(5);
  const insert = insertText('usage_record', allRecordColumns);
  const prices = history.models.map((modelId, index) => priceOf(modelId, BigInt(index + 1), history.fromMs));
  const stepMs = (history.untilMs - history.fromMs) / records;
  let made = 0;
  const row = (): unknown[] => {
    const startedAtMs = Math.floor(history.fromMs + made * stepMs);
    made += 1;
    const priced = recordOf(startedAtMs, history.accounts[made % recordsOfTurn === 0 ? 1 : 0]!, prices, random);
    return [...recordValues(priced), priced.record.chargeNanoUsd, 0n, startedAtMs + 2000];
  };
  while (made < records) {
    await db.plainTransaction(async (tx) => {
      const until = Math.min(records, made + rowsPerTransaction);
      while (made < until) {
        const rows = Math.min(rowsPerStatement[db.engine], until - made);
        await tx.run(insert(rows), Array.from({ length: rows }, row).flat());
      }
    });
  }
}

/** Generates the rows of calls of all accounts in turn, at regular intervals. */
export function rowsOfCalls(history: History, fromMs: number, everyMs: number): () => unknown[] {
  const random = randomOf(7);
  const prices = history.models.map((modelId, index) => priceOf(modelId, BigInt(index + 1), history.fromMs));
  let made = 0;
  return () => {
    const startedAtMs = Math.floor(fromMs + made * everyMs);
    made += 1;
    const priced = recordOf(startedAtMs, history.accounts[made % history.accounts.length]!, prices, random);
    return [...recordValues(priced), priced.record.chargeNanoUsd, 0n, startedAtMs + 2000];
  };
}

/** Returns an element of the list, the first ones most often. */
function pick<T>(items: readonly T[], random: () => number): T {
  return items[Math.floor(random() ** 2 * items.length)]!;
}

function priceOf(modelId: string, dollars: bigint, createdAtMs: number): PriceVersion {
  return PriceVersion.fromPartial({
    id: newId('price', createdAtMs),
    modelId,
    effectiveFromMs: BigInt(createdAtMs),
    inputNanoUsdPerMtok: dollars * 1_000_000_000n,
    cacheReadNanoUsdPerMtok: dollars * 100_000_000n,
    cacheWrite5mNanoUsdPerMtok: dollars * 1_250_000_000n,
    cacheWrite1hNanoUsdPerMtok: dollars * 2_000_000_000n,
    outputNanoUsdPerMtok: dollars * 5_000_000_000n,
    createdAtMs: BigInt(createdAtMs),
  });
}

function recordOf(
  startedAtMs: number,
  account: History['accounts'][number],
  prices: readonly PriceVersion[],
  random: () => number,
): PricedRecord {
  const price = pick(prices, random);
  const call = Call.fromPartial({
    id: newId('req', startedAtMs),
    accountId: account.id,
    projectId: account.id.replace(/^acct/, 'proj'),
    keyId: pick(account.keys, random),
    modelId: price.modelId,
    upstreamId: 'vendor',
    upstreamModel: price.modelId,
    format: random() < 0.5 ? ApiFormat.API_FORMAT_CHAT_COMPLETIONS : ApiFormat.API_FORMAT_MESSAGES,
    streaming: true,
    price,
    heldNanoUsd: 50_000_000n,
    outputCapTokens: 4096,
    startedAtMs: BigInt(startedAtMs),
    traceId: '0af7651916cd43dd8448eb211c80319c',
  }) as PricedCall;
  const tokens = {
    inputTokens: Math.floor(random() * 4000),
    cacheReadTokens: random() < 0.4 ? Math.floor(random() * 20_000) : 0,
    cacheWrite5mTokens: random() < 0.2 ? Math.floor(random() * 4000) : 0,
    cacheWrite1hTokens: 0,
    outputTokens: Math.floor(random() * 1000),
    reasoningTokens: 0,
  };
  return priceRecord(
    {
      call,
      tokens,
      outcome: outcomeOf(random() * 100),
      outcomeDetail: '',
      source: UsageSource.USAGE_SOURCE_REPORTED,
      firstOutputMs: 300,
      durationMs: 2000,
      free: false,
      quarantined: false,
      storedAnswer: Buffer.alloc(0),
    },
    startedAtMs + 2000,
  );
}

function outcomeOf(percentile: number): KnownOutcome {
  let upTo = 0;
  for (const [outcome, share] of outcomes) {
    upTo += share;
    if (percentile < upTo) return outcome;
  }
  return Outcome.OUTCOME_COMPLETED;
}
