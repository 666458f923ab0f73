// Notes in the audit log what somebody did. What was done stays done when the note fails, and then stands in the process's log.
import type { Context } from 'koa';
import { AppendAuditRequest, type User } from '#proto/auth/v1/users.js';
import { contextOf } from './call-contexts.js';
import type { ConsoleDeps } from './deps.js';
import { visitorOf } from './session.js';

/** What was done. */
export interface AuditNote {
  /** Empty for what concerns no account. */
  readonly accountId: string;
  readonly action: string;
  readonly targetId: string;
  /** Without secrets. */
  readonly detail?: object;
  /** Who did it; absent: who is signed in. */
  readonly actor?: User;
}

/** Notes it, as done by whoever is signed in. */
export async function noteAudit(ctx: Context, { peers, config, log }: ConsoleDeps, note: AuditNote): Promise<void> {
  const { accountId, action, targetId, detail = {}, actor: user = visitorOf(ctx).user } = note;
  const entry = {
    accountId,
    action,
    targetId,
    actorUserId: user.id,
    actorName: user.email,
    clientAddress: ctx.ip,
    detailJson: JSON.stringify(detail),
  };
  try {
    await peers.users.appendAudit(AppendAuditRequest.fromPartial({ event: entry }), contextOf({ config }));
  } catch (error) {
    log.error({ err: error, action, target_id: targetId, user_id: user.id }, 'an entry of the audit log was lost');
  }
}
