// Reconcile: compares records, outbox and holds, a part at a time.
import type { CallContext } from '#client/call-context.js';
import { Pacer } from '#kit/scheduling/pacer.js';
import type { ReconcileRequest, ReconcileResponse } from '#proto/metering/v1/metering.js';
import type { RpcDeps } from '../deps.js';
import { recheck } from '../reconcile/examine.js';
import { distinct } from '../reconcile/judge.js';
import { examinePage } from '../reconcile/pages.js';
import { requireId, requireThat } from '../requests/validate-call.js';

/** Maximum duration of a part, so that a disconnected caller is noticed soon. */
const partMs = 1000;
const suspectsMax = 500;
const instantMsMax = 1n << 48n;

/** Raises invalid_request, and what the ledger and the catalog raise when they do not respond. */
export async function reconcile(request: ReconcileRequest, context: CallContext, { reconcile: deps }: RpcDeps): Promise<ReconcileResponse> {
  const { accountId, fromMs, untilMs } = request;
  if (accountId !== '') requireId('acct', accountId, 'account_id');
  requireThat(fromMs >= 0n && fromMs < instantMsMax, 'from_ms', 'must be epoch milliseconds, or 0');
  requireThat(untilMs >= 0n && untilMs < instantMsMax, 'until_ms', 'must be epoch milliseconds, or 0');
  const extent = { accountId, fromMs: Number(fromMs), untilMs: Number(untilMs) };
  const response: ReconcileResponse = {
    recordsChecked: 0n,
    holdsChecked: 0n,
    settlementsChecked: 0n,
    drifts: [],
    nextPageToken: request.pageToken,
  };
  const endMs = performance.now() + partMs;
  const pacer = new Pacer(context.signal);
  do {
    await pacer.step();
    const page = await examinePage(extent, response.nextPageToken, deps);
    response.recordsChecked += BigInt(page.recordsChecked);
    response.holdsChecked += BigInt(page.holdsChecked);
    response.settlementsChecked += BigInt(page.settlementsChecked);
    response.drifts.push(...page.drifts);
    response.nextPageToken = page.nextPageToken;
  } while (response.nextPageToken !== '' && response.drifts.length < suspectsMax && performance.now() < endMs);
  return { ...response, drifts: await recheck(distinct(response.drifts), deps) };
}
