// GetAlert: an account's alert, and whether its balance is low now.
import type { CallContext } from '#client/call-context.js';
import type { GetAlertRequest, GetAlertResponse } from '#proto/ledger/v1/alerts.js';
import { checkedId } from '../../requests/fields.js';
import type { AlertDeps } from '../deps.js';
import { isLow, rearmAtNanoUsd } from '../hysteresis.js';
import { moneyOf, toAlertMessage } from '../render.js';

/** Raises invalid_request. */
export async function getAlert(request: GetAlertRequest, _context: CallContext, { alerts, reads }: AlertDeps): Promise<GetAlertResponse> {
  const accountId = checkedId('account_id', 'acct', request.accountId);
  const alert = await alerts.find(accountId);
  const money = moneyOf(accountId, await reads.account(accountId));
  return {
    alert: toAlertMessage(accountId, alert),
    ...money,
    low: alert !== undefined && isLow(alert, money.settledNanoUsd),
    rearmAtNanoUsd: alert === undefined ? 0n : rearmAtNanoUsd(alert.thresholdNanoUsd),
  };
}
