// ListKeySpend: what keys have spent and hold.
import type { CallContext } from '#client/call-context.js';
import type { ListKeySpendRequest, ListKeySpendResponse } from '#proto/ledger/v1/ledger.js';
import { emptyKey } from '../books/buckets.js';
import type { RpcDeps } from '../deps.js';
import { checkedId, invalidField } from '../requests/fields.js';
import { toKeySpend } from '../requests/messages.js';

const keysMax = 1000;

/** Returns keys that are requested by id in the requested order, with zero spend for those that were never used. Raises invalid_request. */
export async function listKeySpend(request: ListKeySpendRequest, _context: CallContext, deps: RpcDeps): Promise<ListKeySpendResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  if (request.keyIds.length > keysMax) throw invalidField('key_ids', `at most ${keysMax}`);
  const keyIds = request.keyIds.map((keyId, index) => checkedId(`key_ids[${index}]`, 'key', keyId));
  const keys = await deps.reads.keys(accountId, keyIds, keysMax);
  if (keyIds.length === 0) return { keys: keys.map(toKeySpend) };
  const byId = new Map(keys.map((key) => [key.keyId, key]));
  return { keys: keyIds.map((keyId) => toKeySpend(byId.get(keyId) ?? emptyKey(accountId, keyId))) };
}
