// Verify: rebuilds balances from the journal and the holds, and lists what disagrees.
import type { CallContext } from '#client/call-context.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import type { VerifyRequest, VerifyResponse } from '#proto/ledger/v1/ledger.js';
import type { RpcDeps } from '../deps.js';
import { driftOfHold, driftsMax } from '../verify/rebuild.js';
import { checkedId } from '../requests/fields.js';
import type { Audit } from '../store/audit.js';
import { verifyAccount } from '../verify/verify-account.js';

const accountsPageSize = 200;

/** Compares each account at an instant of its own, while it is in use. Stops early when the caller disconnects. Raises invalid_request. */
export async function verify(request: VerifyRequest, context: CallContext, deps: RpcDeps): Promise<VerifyResponse> {
  const accountIds = request.accountId === '' ? allAccounts(deps.audit) : [checkedId('account_id', 'acct', request.accountId)];
  const response: VerifyResponse = { accountsChecked: 0n, entriesChecked: 0n, openHolds: 0n, sumNanoUsd: 0n, drifts: [] };
  const pacer = new Pacer(context.signal);
  for await (const accountId of accountIds) {
    await pacer.step();
    const { rebuild, openHolds, known } = await verifyAccount(accountId, deps, pacer);
    if (known) response.accountsChecked += 1n;
    response.entriesChecked += rebuild.entries;
    response.openHolds += BigInt(openHolds);
    response.sumNanoUsd += rebuild.booksSumNanoUsd();
    response.drifts.push(...rebuild.drifts.slice(0, driftsMax - response.drifts.length));
  }
  const unexplained = await deps.audit.unexplainedHolds(request.accountId || undefined, driftsMax, pacer);
  response.drifts.push(...unexplained.map(driftOfHold).slice(0, driftsMax - response.drifts.length));
  for (const { accountId, subject: what, storedNanoUsd, rebuiltNanoUsd } of response.drifts) {
    deps.log.error(
      { account_id: accountId, what, stored_nano_usd: String(storedNanoUsd), rebuilt_nano_usd: String(rebuiltNanoUsd) },
      'the books disagree',
    );
  }
  if (request.accountId === '') {
    const { accountsChecked, entriesChecked, sumNanoUsd, drifts } = response;
    deps.lastCheck.books = { finishedAtMs: BigInt(deps.clock.nowMs()), accountsChecked, entriesChecked, sumNanoUsd, drifts: drifts.length };
  }
  return response;
}

async function* allAccounts(audit: Audit): AsyncGenerator<string> {
  for (let last: string | undefined; ;) {
    const page = await audit.accountIdsAfter(last, accountsPageSize);
    yield* page;
    last = page.at(-1);
    if (page.length < accountsPageSize) return;
  }
}
