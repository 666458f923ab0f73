// Money into and out of accounts, for operators: always by new entries of the journal, each once for its Idempotency-Key.
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { formatUsd, parseUsd } from '#rules/money.js';
import { type Balance, BookAccount, DepositSource, type Entry, EntryKind } from '#proto/ledger/v1/ledger.js';
import { noteAudit } from '../../audit.js';
import { contextOf } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { renderBalance, renderEntry } from '../../render/money.js';
import { accountInPath } from './accounts.js';
import { assertConfirmed } from './confirm.js';
import { operatorBodies } from './operator-bodies.js';

/** Adds the routes below `base`, behind what lets in operators alone. */
export function creditRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/settings`, getSettings(deps));
  router.post(`${base}/accounts/:account/credits`, credit(deps));
  router.post(`${base}/accounts/:account/debits`, debit(deps));
  router.post(`${base}/accounts/:account/entries/:entry/reverse`, reverse(deps));
}

/** GET settings: what pages have to know before they ask. */
function getSettings({ config }: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    ctx.body = { confirm_above_usd: formatUsd(config.confirmAboveNanoUsd) };
  };
}

/** POST accounts/{id}/credits. */
function credit(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await operatorBodies.credit(ctx);
    const amountNanoUsd = amountOf(body, deps);
    const { id: accountId } = await accountInPath(ctx, deps);
    const { ledger } = deps.peers;
    const idempotencyKey = idempotencyKeyOf(ctx);
    const reason = reasonOf(body);
    const posted =
      body.source === 'correction'
        ? await ledger.adjust({ idempotencyKey, accountId, amountNanoUsd, reason, linkedEntryId: '' }, contextOf(deps))
        : await ledger.deposit({ idempotencyKey, accountId, amountNanoUsd, reason, source: sources[body.source] }, contextOf(deps));
    await answer(ctx, deps, 'account.credit', posted, { source: body.source, reason: body.reason, reference: body.reference ?? null });
  };
}

const sources = { cash: DepositSource.DEPOSIT_SOURCE_CASH, promotion: DepositSource.DEPOSIT_SOURCE_PROMOTION } as const;

/** POST accounts/{id}/debits: never below zero (balance_empty). */
function debit(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await operatorBodies.debit(ctx);
    const amountNanoUsd = -amountOf(body, deps);
    const { id: accountId } = await accountInPath(ctx, deps);
    const request = { idempotencyKey: idempotencyKeyOf(ctx), accountId, amountNanoUsd, reason: reasonOf(body), linkedEntryId: '' };
    const posted = await deps.peers.ledger.adjust(request, contextOf(deps));
    await answer(ctx, deps, 'account.debit', posted, { reason: body.reason, reference: body.reference ?? null });
  };
}

/**
 * POST accounts/{id}/entries/{entry}/reverse: the opposite entry, linked to the first; of a charge, what is left of it is given
 * back. The first entry names the operation, so that nothing is reversed twice, whoever asks.
 */
function reverse(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await operatorBodies.reverse(ctx);
    const { id: accountId } = await accountInPath(ctx, deps);
    const { ledger } = deps.peers;
    const { entry } = await ledger.getEntry({ accountId, entryId: String(ctx['params'].entry) }, contextOf(deps));
    const effect = effectNanoUsd(entry!);
    if (effect === 0n)
      throw new AppError(
        'failed_precondition',
        'This entry took nothing from the account and added nothing, so there is nothing to reverse.',
      );
    assertConfirmed(entry!.amountNanoUsd, body, deps);
    const { reason } = body;
    const idempotencyKey = `reverse ${entry!.id}`;
    const posted =
      entry!.kind === EntryKind.ENTRY_KIND_CHARGE
        ? await ledger.refund({ idempotencyKey, accountId, holdId: entry!.reference, amountNanoUsd: undefined, reason }, contextOf(deps))
        : await ledger.adjust({ idempotencyKey, accountId, amountNanoUsd: -effect, reason, linkedEntryId: entry!.id }, contextOf(deps));
    await answer(ctx, deps, 'account.reverse', posted, { reason, reversed_entry_id: entry!.id });
  };
}

/** What an entry added to the account's money; below zero for what it took. */
function effectNanoUsd({ credit, debit, amountNanoUsd }: Entry): bigint {
  if (credit === BookAccount.BOOK_ACCOUNT_CUSTOMER) return amountNanoUsd;
  return debit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? -amountNanoUsd : 0n;
}

interface Posted {
  readonly entry: Entry | undefined;
  readonly balance: Balance | undefined;
  readonly replayed: boolean;
}

async function answer(
  ctx: Context,
  deps: ConsoleDeps,
  action: string,
  { entry, balance, replayed }: Posted,
  detail: object,
): Promise<void> {
  const { accountId } = entry!;
  const after = balance!.availableNanoUsd;
  const amounts = {
    amount_usd: formatUsd(entry!.amountNanoUsd),
    before: { available_usd: formatUsd(after - effectNanoUsd(entry!)) },
    after: { available_usd: formatUsd(after) },
  };
  // A repeat did nothing, and the first time it was noted.
  if (!replayed) await noteAudit(ctx, deps, { accountId, action, targetId: entry!.id, detail: { ...detail, ...amounts } });
  ctx.status = replayed ? 200 : 201;
  ctx.body = { entry: renderEntry(entry!), balance: renderBalance(balance!), replayed };
}

/** The amount asked for. Raises invalid_request for zero, and for a large one that was not said twice. */
function amountOf(body: { amount_usd: string; confirm_amount_usd?: string | null | undefined }, deps: ConsoleDeps): bigint {
  const amountNanoUsd = parseUsd(body.amount_usd)!;
  if (amountNanoUsd === 0n) throw new AppError('invalid_request', 'amount_usd: must be above 0', { details: { field: 'amount_usd' } });
  assertConfirmed(amountNanoUsd, body, deps);
  return amountNanoUsd;
}

function idempotencyKeyOf(ctx: Context): string {
  const given = ctx.get('idempotency-key');
  if (given === '' || given.length > 180) {
    throw new AppError(
      'invalid_request',
      'Money moves only with the header Idempotency-Key, of 1 to 180 characters, so that a repeat moves it once.',
      { details: { field: 'idempotency-key' } },
    );
  }
  return `console ${given}`;
}

/** The ledger keeps one text; the reference stands behind the reason. */
function reasonOf({ reason, reference }: { reason: string; reference?: string | null | undefined }): string {
  return reference == null || reference.trim() === '' ? reason : `${reason} (${reference.trim()})`;
}
