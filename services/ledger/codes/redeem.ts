// Redeems a code: one statement assigns it to an account, so that only one of many concurrent attempts succeeds, and its amount is then deposited
// under the code's own idempotency key. If something fails in between, a repeat or the sweeper makes the deposit, which is booked once.
import type { Knex } from 'knex';
import { fault } from '#client/errors/fault.js';
import type { AuditRecord } from '#kit/audit/audit-event.js';
import type { Waiter } from '#kit/scheduling/batch-lane.js';
import { DepositSource, RedemptionCodeState as State } from '#proto/ledger/v1/ledger.js';
import type { CallContext } from '#client/call-context.js';
import { entryEvent } from '../books/audit-events.js';
import type { RpcDeps } from '../deps.js';
import type { CreditReply } from '../books/model.js';
import { perform } from '../lane/perform.js';
import { depositOperation } from '../requests/operations.js';
import type { CodeRecord } from '../store/codes.js';
import { hashOfCode, readCode } from './code-secret.js';

/** How many attempts of one account may be refused in a window, and the length of the window in milliseconds. */
export const refusalsMax = 10;
export const refusalWindowMs = 15 * 60_000;
/** How long after a claim the sweeper makes the deposit. Unless it has crashed, the claiming process has made it by then. */
const orphanedAfterMs = 30_000;
/** How many claims the sweeper reads at a time. */
export const orphansMax = 50;

type Deps = Pick<RpcDeps, 'lane' | 'log' | 'codes' | 'clock' | 'auditLog'>;
type By = Pick<CallContext, 'caller' | 'actor'>;

/** Credits the account with a code. Raises code_refused, code_throttled, and what a deposit raises. */
export async function redeem(accountId: string, secret: string, by: By, waiter: Waiter, deps: Deps): Promise<CreditReply> {
  const { codes, clock } = deps;
  const nowMs = clock.nowMs();
  const limit = { max: refusalsMax, windowMs: refusalWindowMs };
  const characters = readCode(secret);
  const { code, throttledUntilMs } = await codes.attempt(accountId, nowMs, limit, (tx) => claimed(tx, accountId, characters, nowMs, deps));
  if (throttledUntilMs !== undefined) {
    const retryAfterMs = throttledUntilMs - nowMs;
    throw fault('codes_throttled', { minutes: Math.max(1, Math.ceil(retryAfterMs / 60_000)) }, { retryAfterMs });
  }
  if (code === undefined) throw fault('code_refused', {}, { details: { field: 'code' } });
  return deposit(code, accountId, by, waiter, deps);
}

/** Returns the code, if it now belongs to this account. */
async function claimed(
  tx: Knex.Transaction,
  accountId: string,
  characters: string | undefined,
  nowMs: number,
  { codes }: Deps,
): Promise<CodeRecord | undefined> {
  if (characters === undefined) return undefined;
  const hash = hashOfCode(characters);
  await codes.claim(hash, accountId, nowMs, tx);
  const code = await codes.byHash(hash, tx);
  return code?.accountId === accountId ? code : undefined;
}

/** Makes the deposit of a claimed code, or finds the one that was made. */
async function deposit(code: CodeRecord, accountId: string, by: By, waiter: Waiter, deps: Deps): Promise<CreditReply> {
  const operation = depositOperation({
    idempotencyKey: `redemption ${code.id}`,
    accountId,
    amountNanoUsd: code.amountNanoUsd,
    source: DepositSource.DEPOSIT_SOURCE_PROMOTION,
    reason: `redemption code ending in ${code.lastFour}`,
  });
  const audit = (done: CreditReply): AuditRecord => deps.auditLog.record(by, entryEvent('code.redeem', done, { code_id: code.id }));
  const reply = await perform({ ...operation, audit }, waiter, deps);
  if (code.state === State.REDEMPTION_CODE_STATE_CLAIMED) await deps.codes.complete(code.hash, reply.entry.seq);
  return reply;
}

/**
 * Makes the deposits of codes whose claiming process did not, for example because it died; returns how many. If some deposits fail, for example because
 * an account can hold no more, makes all the others first and then raises the first error.
 */
export async function completeClaims(deps: Deps): Promise<number> {
  const untilMs = deps.clock.nowMs() - orphanedAfterMs;
  const waiter = { signal: new AbortController().signal, deadlineMs: undefined };
  const faults: unknown[] = [];
  let count = 0;
  let orphans: readonly CodeRecord[] = [];
  do {
    orphans = await deps.codes.claimedUntil(untilMs, orphans.at(-1)?.id, orphansMax);
    count += orphans.length;
    for (const code of orphans) {
      await deposit(code, code.accountId!, { caller: 'ledger' }, waiter, deps).catch((error: unknown) => faults.push(error));
    }
  } while (orphans.length === orphansMax);
  if (faults.length > 0) throw faults[0];
  return count;
}
