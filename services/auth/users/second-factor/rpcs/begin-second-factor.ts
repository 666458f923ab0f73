// BeginSecondFactor: prepares a second factor, which the user then proves to work.
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { type BeginSecondFactorRequest, type BeginSecondFactorResponse, SecondFactorKind } from '#proto/auth/v1/users.js';
import { type SessionUser, userOfSession } from '../../passwords/current-password.js';
import type { UserDeps } from '../../deps.js';
import { sealEnrolment } from '../enrolment.js';
import { assertRecentlyAuthenticated } from '../recent.js';
import { factorsMax, type StoredFactor } from '../store.js';
import { newTotpSecret, totpUri } from '../totp.js';

/** Raises invalid_request, not_found and failed_precondition. */
export async function beginSecondFactor(
  { sessionId, kind }: BeginSecondFactorRequest,
  _context: CallContext,
  deps: UserDeps,
): Promise<BeginSecondFactorResponse> {
  const who = await userOfSession(sessionId, deps);
  assertRecentlyAuthenticated(who.session, deps.clock);
  const present = await deps.factors.list(who.userId);
  assertRoom(present, kind);
  if (kind === SecondFactorKind.SECOND_FACTOR_KIND_TOTP) return ofTotp(who, deps);
  if (kind === SecondFactorKind.SECOND_FACTOR_KIND_PASSKEY) return ofPasskey(who, present, deps);
  throw fieldFault('kind', 'known');
}

/** Raises failed_precondition if the user can have no other factor of this kind. */
export function assertRoom(present: readonly StoredFactor[], kind: SecondFactorKind): void {
  if (present.length >= factorsMax) throw fault('factors_full', { max: factorsMax });
  // With several apps, a guessed code could be that of any of them.
  const isTotp = kind === SecondFactorKind.SECOND_FACTOR_KIND_TOTP;
  if (isTotp && present.some(({ factor }) => factor.kind === kind)) throw fault('totp_present', {});
}

function ofTotp({ stored: { user } }: SessionUser, deps: UserDeps): BeginSecondFactorResponse {
  const secret = newTotpSecret();
  const host = deps.passkeys.origin === undefined ? '' : ` ${new URL(deps.passkeys.origin).hostname}`;
  const enrolment = sealEnrolment({ userId: user.id, kind: SecondFactorKind.SECOND_FACTOR_KIND_TOTP, secret }, deps);
  return { enrolment, setup: { $case: 'totpUri', value: totpUri(secret, `Tollgate${host}`, user.email) } };
}

async function ofPasskey(
  { userId, stored: { user } }: SessionUser,
  present: readonly StoredFactor[],
  deps: UserDeps,
): Promise<BeginSecondFactorResponse> {
  const known = present.flatMap((each) => deps.challenges.passkeyOf(each) ?? []);
  const { json, challenge } = await deps.passkeys.creationOptions({ id: userId, email: user.email, name: user.name }, known);
  const enrolment = sealEnrolment({ userId: user.id, kind: SecondFactorKind.SECOND_FACTOR_KIND_PASSKEY, secret: challenge }, deps);
  return { enrolment, setup: { $case: 'passkeyOptionsJson', value: json } };
}
