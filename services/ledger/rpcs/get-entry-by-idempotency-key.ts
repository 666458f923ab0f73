// GetEntryByIdempotencyKey: the entry that a deposit, adjustment or refund created.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { GetEntryByIdempotencyKeyRequest, GetEntryByIdempotencyKeyResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { checkedId, checkedIdempotencyKey } from '../requests/fields.js';

/** Raises not_found and invalid_request. */
export async function getEntryByIdempotencyKey(
  request: GetEntryByIdempotencyKeyRequest,
  _context: CallContext,
  { reads }: RpcDeps,
): Promise<GetEntryByIdempotencyKeyResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const entry = await reads.entryOf(accountId, checkedIdempotencyKey(request.idempotencyKey));
  if (entry === undefined)
    throw new AppError('not_found', 'The account has no entry with this idempotency key.', { details: { what: 'entry' } });
  return { entry };
}
