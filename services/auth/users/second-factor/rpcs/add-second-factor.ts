// AddSecondFactor: adds a second factor that the user has shown to work.
import { fault, fieldFault } from '#client/errors/fault.js';
import { idToBytes, newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { type AddSecondFactorRequest, type AddSecondFactorResponse, SecondFactorKind } from '#proto/auth/v1/users.js';
import { checkedName } from '../../../requests/fields.js';
import { sessionActor } from '../../audit/audit-details.js';
import { clearFactorFailures } from '../../passwords/throttle.js';
import { lockSession, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { unlessDuplicate } from '../../store/identities.js';
import { type Enrolment, openEnrolment } from '../enrolment.js';
import { mailSecurityEvent } from '../../mail/mail-security-event.js';
import { credentialHash } from '../passkeys.js';
import { newRecoveryCodes } from '../recovery-codes.js';
import { factorPurpose, type StoredFactor } from '../store.js';
import { stepOfCode } from '../totp.js';
import { assertRoom } from './begin-second-factor.js';

/** Raises invalid_request for a proof that does not fit, not_found, already_exists for a known passkey, and failed_precondition. */
export async function addSecondFactor(
  request: AddSecondFactorRequest,
  context: CallContext,
  deps: UserDeps,
): Promise<AddSecondFactorResponse> {
  const { audit, box, db, factors, sessions, clock, log } = deps;
  const name = checkedName(request.name);
  const who = await userOfSession(request.sessionId, deps);
  const { user } = who.stored;
  const enrolment = openEnrolment(request.enrolment, user.id, deps);
  const { data, counter, hash } = await proven(enrolment, request.proof, deps);
  const nowMs = clock.nowMs();
  const factor = { id: newId('fac', nowMs), kind: enrolment.kind, name, createdAtMs: BigInt(nowMs), lastUsedAtMs: 0n };
  const stored: StoredFactor = { userId: user.id, factor, counter, sealedData: box.seal(data, factorPurpose({ userId: user.id, factor })) };
  const { codes, hashes } = newRecoveryCodes();
  let isFirst = false;
  const isAdded = await unlessDuplicate(() =>
    db.transaction(async (tx) => {
      await lockSession(tx, who, deps);
      const present = await factors.list(who.userId, tx);
      assertRoom(present, enrolment.kind);
      isFirst = present.length === 0;
      await factors.add(tx, stored, hash);
      if (isFirst) {
        await factors.replaceCodes(tx, who.userId, hashes);
        // They began without a second factor, but would count as sessions of a user who has one.
        await sessions.end(tx, who.userId, { butId: idToBytes('sess', who.session.id) });
      }
      await mailSecurityEvent(tx, user, { event: 'factor_added', what: name }, request.language, deps);
      const detail = { user: user.id, kind: kindWord(factor.kind), name };
      await audit.append(tx, context, { action: 'profile.add_factor', targetId: factor.id, detail, actor: sessionActor(who, context) });
    }),
  );
  if (!isAdded) throw fault('passkey_exists', {});
  // Of factors that an operator has removed.
  if (isFirst) await clearFactorFailures({ userId: user.id, address: sessionActor(who, context).clientAddress }, deps);
  log.info({ user_id: user.id, factor_id: factor.id, kind: kindWord(factor.kind) }, 'second factor added');
  return { factor, recoveryCodes: isFirst ? codes : [] };
}

/** Returns the name of a kind in audit events. */
export function kindWord(kind: SecondFactorKind): string {
  return kind === SecondFactorKind.SECOND_FACTOR_KIND_TOTP ? 'totp' : 'passkey';
}

/** Returns what to store of a factor that works. */
async function proven(
  { kind, secret }: Enrolment,
  proof: AddSecondFactorRequest['proof'],
  { passkeys, clock }: UserDeps,
): Promise<{ data: string; counter: number; hash: Buffer | undefined }> {
  if (kind === SecondFactorKind.SECOND_FACTOR_KIND_TOTP) {
    const step = proof?.$case === 'totpCode' ? stepOfCode(secret, proof.value, clock.nowMs()) : undefined;
    if (step === undefined) throw fieldFault('totp_code', 'totp_code');
    return { data: secret, counter: step, hash: undefined };
  }
  const created = proof?.$case === 'passkeyResponseJson' ? await passkeys.created(proof.value, secret) : undefined;
  if (created === undefined) throw fieldFault('passkey', 'passkey');
  return { data: JSON.stringify(created.data), counter: created.counter, hash: credentialHash(created.data.credentialId) };
}
