// A factor that is being set up. It is sealed and kept by the client, so that nothing is stored before the user has shown that the factor works.
import { fault } from '#client/errors/fault.js';
import type { SecondFactorKind } from '#proto/auth/v1/users.js';
import type { UserDeps } from '../deps.js';

const lifeMs = 15 * 60_000;
const purpose = 'second-factor enrolment';

/** Holds a factor that is being set up. */
export interface Enrolment {
  readonly userId: string;
  readonly kind: SecondFactorKind;
  /** The secret of an authenticator app in Base32, or the challenge of a passkey. */
  readonly secret: string;
}

/** Returns the enrolment as an opaque text. */
export function sealEnrolment(enrolment: Enrolment, { box, clock }: Pick<UserDeps, 'box' | 'clock'>): string {
  return box.seal(JSON.stringify({ ...enrolment, expiresAtMs: clock.nowMs() + lifeMs }), purpose);
}

/** Returns the enrolment of a user. Raises failed_precondition if it has expired or is not theirs. */
export function openEnrolment(sealed: string, userId: string, { box, clock }: Pick<UserDeps, 'box' | 'clock'>): Enrolment {
  const text = box.open(sealed, purpose);
  const enrolment = text === undefined ? undefined : (JSON.parse(text) as Enrolment & { readonly expiresAtMs: number });
  if (enrolment === undefined || enrolment.expiresAtMs <= clock.nowMs() || enrolment.userId !== userId) throw fault('enrolment_ended', {});
  return enrolment;
}
