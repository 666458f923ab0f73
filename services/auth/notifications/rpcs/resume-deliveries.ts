// ResumeDeliveries: lets a restored installation send mails and webhook requests.
import type { CallContext } from '#client/call-context.js';
import type { ResumeDeliveriesRequest, ResumeDeliveriesResponse } from '#proto/auth/v1/notifications.js';
import { finding } from '#rules/errors/finding-sentences.js';
import { forgetHappened } from '../../store/installation.js';
import type { NotificationDeps } from '../deps.js';

/** Does nothing if deliveries are not paused. */
export async function resumeDeliveries(
  { withdrawPending }: ResumeDeliveriesRequest,
  context: CallContext,
  { db, notifications, audit, clock, log }: NotificationDeps,
): Promise<ResumeDeliveriesResponse> {
  const withdrawn = await db.transaction(async (tx) => {
    if (!(await forgetHappened(tx, 'deliveries_paused'))) return 0;
    const count = withdrawPending
      ? await notifications.withdrawAll(tx, { outcome: finding('withdrawn_after_restore', {}), dueAtMs: clock.nowMs() })
      : 0;
    await audit.append(tx, context, { action: 'deliveries.resume', targetId: '', detail: { withdrawn: count } });
    return count;
  });
  log.info({ withdrawn }, 'emails and webhook requests are sent again');
  return { withdrawn: BigInt(withdrawn) };
}
