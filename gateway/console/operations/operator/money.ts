// Money into and out of accounts, for operators: always as new entries of the journal, each posted once per Idempotency-Key.
import { fieldFault } from '#client/errors/fault.js';
import { DepositSource, type ReverseResponse } from '#proto/ledger/v1/ledger.js';
import { amountNanoUsdMax, formatUsd } from '#rules/money/money.js';
import { withReference } from '#rules/money/reference.js';
import { reversalKey } from '#rules/money/reversal-key.js';
import type { OperationDeps } from '../../deps.js';
import { renderBalance, renderEntry } from '../../render/billing.js';
import { nanoUsdOf } from '../../render/values.js';
import { EntryDetail, Posted } from '../../schemas/billing.js';
import { Credit, Debit, OperatorSettings, Reverse } from '../../schemas/operator/accounts.js';
import { type Area, type Call, created, ok, operation } from '../../table/operation.js';
import { accountInPath } from './accounts.js';
import { assertConfirmed } from './confirm.js';

const answers = [created(Posted, 'Posted.'), ok(Posted, 'The answer to a repeat.')] as const;
const idempotency = 'Required. A repeat with the same value posts nothing.';
const errors = { invalid_request: 'Also when an amount above `confirm_above_usd` was not repeated in `confirm_amount_usd`.' };
const sources = { cash: DepositSource.DEPOSIT_SOURCE_CASH, promotion: DepositSource.DEPOSIT_SOURCE_PROMOTION } as const;

export const money: Area = {
  title: 'Operators: money',
  description: 'Credits and debits of accounts, always as new journal entries.',
  operations: [
    operation('POST', '/operator/accounts/{account}/credits', {
      summary: 'Add funds.',
      who: 'operator',
      idempotency,
      idempotencyRequired: true,
      body: Credit,
      answers,
      errors,
      handle: async (call, deps) => {
        const { body, idempotencyKey, context } = call;
        const amountNanoUsd = amountOf(body, deps);
        const { id: accountId } = await accountInPath(call, deps);
        const { ledger } = deps.peers;
        const reason = withReference(body.reason, body.reference ?? '');
        const posted =
          body.source === 'correction'
            ? await ledger.adjust({ idempotencyKey, accountId, amountNanoUsd, reason, linkedEntryId: '' }, context())
            : await ledger.deposit({ idempotencyKey, accountId, amountNanoUsd, reason, source: sources[body.source] }, context());
        return answer(call, posted);
      },
    }),
    operation('POST', '/operator/accounts/{account}/debits', {
      summary: 'Remove funds. The balance cannot fall below zero.',
      who: 'operator',
      idempotency,
      idempotencyRequired: true,
      body: Debit,
      answers,
      errors: { ...errors, balance_empty: 'The balance of the account is lower than the amount.' },
      handle: async (call, deps) => {
        const { body, idempotencyKey, context } = call;
        const amountNanoUsd = -amountOf(body, deps);
        const { id: accountId } = await accountInPath(call, deps);
        const request = {
          idempotencyKey,
          accountId,
          amountNanoUsd,
          reason: withReference(body.reason, body.reference ?? ''),
          linkedEntryId: '',
        };
        const posted = await deps.peers.ledger.adjust(request, context());
        return answer(call, posted);
      },
    }),
    operation('GET', '/operator/accounts/{account}/entries/{entry}', {
      summary: 'Show an entry, the entries that correct it, and what is left to reverse.',
      who: 'operator',
      answers: [ok(EntryDetail)],
      handle: async (call, deps) => {
        const { params, context } = call;
        const { id: accountId } = await accountInPath(call, deps);
        const { entry, corrections, reversibleNanoUsd } = await deps.peers.ledger.getEntry({ accountId, entryId: params.entry }, context());
        return { entry: renderEntry(entry!), corrections: corrections.map(renderEntry), reversible_usd: formatUsd(reversibleNanoUsd) };
      },
    }),
    operation('POST', '/operator/accounts/{account}/entries/{entry}/reverse', {
      summary: 'Reverse what is left of an entry. A repeat posts nothing. A charge is refunded; a refund is charged to its call again.',
      who: 'operator',
      body: Reverse,
      answers,
      errors: {
        ...errors,
        failed_precondition: 'Nothing is left of the entry, or entries of its kind cannot be reversed.',
        balance_empty: 'The available balance is lower than the amount.',
        idempotency_mismatch: 'The entry was already reversed for another reason.',
      },
      handle: async (call, deps) => {
        const { body, params, context } = call;
        const { id: accountId } = await accountInPath(call, deps);
        const { ledger } = deps.peers;
        const found = await ledger.getEntry({ accountId, entryId: params.entry }, context());
        // Nothing is left if this is a repeat, to which the ledger returns the first outcome.
        if (found.reversibleNanoUsd > 0n) assertConfirmed(found.reversibleNanoUsd, body, deps);
        const entryId = found.entry!.id;
        const request = { idempotencyKey: reversalKey(entryId, found), accountId, entryId, reason: withReference(body.reason, '') };
        return answer(call, await ledger.reverse(request, context()));
      },
    }),
    operation('GET', '/operator/settings', {
      summary: 'Show the settings that a client needs before it credits or debits an account.',
      who: 'operator',
      answers: [ok(OperatorSettings)],
      handle: (_call, { config }) => ({ confirm_above_usd: formatUsd(config.confirmAboveNanoUsd) }),
    }),
  ],
};

function answer({ ctx }: Pick<Call, 'ctx'>, { entry, balance, replayed }: Pick<ReverseResponse, 'entry' | 'balance' | 'replayed'>): Posted {
  if (replayed) ctx.status = 200;
  return { entry: renderEntry(entry!), balance: renderBalance(balance!), replayed };
}

/** Returns the amount of the request. Raises invalid_request for zero, and for a large amount that was not confirmed. */
function amountOf(body: Pick<Debit, 'amount_usd' | 'confirm_amount_usd'>, deps: OperationDeps): bigint {
  const amountNanoUsd = nanoUsdOf('amount_usd', body.amount_usd, amountNanoUsdMax);
  if (amountNanoUsd === 0n) throw fieldFault('amount_usd', 'positive');
  assertConfirmed(amountNanoUsd, body, deps);
  return amountNanoUsd;
}
