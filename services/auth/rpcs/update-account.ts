// UpdateAccount: renames, limits, suspends or resumes an account.
import { isDeepStrictEqual } from 'node:util';
import { fieldFault } from '#client/errors/fault.js';
import { type AuditEvent, changedFields } from '#kit/audit/audit-event.js';
import type { CallContext } from '#client/call-context.js';
import { type Account, AccountState, type UpdateAccountRequest, type UpdateAccountResponse } from '#proto/auth/v1/auth.js';
import type { RpcDeps } from '../deps.js';
import { accountIdBytes, checkedName, invalidField } from '../requests/fields.js';
import { found } from '../requests/found.js';
import { accountRateLimitWords, checkedAccountRateLimits } from '../requests/rate-limits.js';
import { checkedUpdateMask } from '#kit/rpc/update-mask.js';

const reasonCharsMax = 500;

const fields = ['name', 'state', 'state_reason', 'rate_limits'] as const;

/** Changes the fields of the mask. Raises invalid_request and not_found. */
export async function updateAccount(request: UpdateAccountRequest, context: CallContext, deps: RpcDeps): Promise<UpdateAccountResponse> {
  const id = accountIdBytes(request.accountId);
  const mask = checkedUpdateMask(request.updateMask, fields);
  const name = mask.has('name') ? checkedName(request.name) : undefined;
  const state = mask.has('state') ? checkedState(request.state) : undefined;
  const reason = mask.has('state_reason') ? checkedReason(request.stateReason) : undefined;

  const rateLimits = checkedAccountRateLimits(request.rateLimits);

  const change = (before: Account): Account => {
    const isSuspended = (state ?? before.state) === AccountState.ACCOUNT_STATE_SUSPENDED;
    const stateReason = isSuspended ? (reason ?? before.stateReason) : '';
    const after: Account = {
      ...before,
      name: name ?? before.name,
      state: state ?? before.state,
      stateReason,
      rateLimits: mask.has('rate_limits') ? rateLimits : before.rateLimits,
    };
    return isDeepStrictEqual(after, before) ? before : after;
  };
  const changed = await deps.accounts.change(id, change, (tx, before, after) =>
    deps.audit.append(tx, context, auditEvent(before, after, reason)),
  );
  const account = found(changed, 'account');
  deps.feed.wake();
  deps.log.info({ account_id: account.id, version: account.version.toString() }, 'account updated');
  return { account };
}

function auditEvent(before: Account, after: Account, reason = ''): AuditEvent {
  const isSuspended = after.state === AccountState.ACCOUNT_STATE_SUSPENDED;
  const word = before.state !== after.state ? (isSuspended ? 'suspend' : 'resume') : before.name !== after.name ? 'rename' : 'update';
  const detail = { ...(reason === '' ? {} : { reason }), ...changedFields(auditDetail(before), auditDetail(after)) };
  return { action: `account.${word}`, accountId: after.id, targetId: after.id, detail };
}

function auditDetail({ name, state, stateReason, rateLimits }: Account): object {
  return {
    name,
    state: state === AccountState.ACCOUNT_STATE_SUSPENDED ? 'suspended' : 'active',
    state_reason: stateReason,
    rate_limits: accountRateLimitWords(rateLimits),
  };
}

function checkedReason(reason: string): string {
  if ([...reason].length > reasonCharsMax) throw fieldFault('state_reason', 'max_length', { max: reasonCharsMax });
  if (/\p{Cc}/u.test(reason)) throw fieldFault('state_reason', 'no_control_characters');
  return reason;
}

function checkedState(state: AccountState): AccountState {
  if (state === AccountState.ACCOUNT_STATE_ACTIVE || state === AccountState.ACCOUNT_STATE_SUSPENDED) return state;
  throw invalidField('state', 'state must be ACTIVE or SUSPENDED.');
}
