// Second factors and their challenges as JSON. Pure.
import { encode } from 'uqr';
import { fieldFault } from '#client/errors/fault.js';
import {
  type BeginSecondFactorResponse,
  type SecondFactor as SecondFactorMessage,
  type SecondFactorChallenge as ChallengeMessage,
  SecondFactorKind,
  type SecondFactorProof,
} from '#proto/auth/v1/users.js';
import type { ProveSecondFactor, SecondFactor, SecondFactorBegun, SecondFactorChallenge } from '../schemas/second-factor.js';
import { instant } from './values.js';

/** Renders a second factor. */
export function renderSecondFactor({ id, kind, name, createdAtMs, lastUsedAtMs }: SecondFactorMessage): SecondFactor {
  return {
    id,
    kind: kind === SecondFactorKind.SECOND_FACTOR_KIND_TOTP ? 'totp' : 'passkey',
    name,
    created_at: instant(createdAtMs),
    last_used_at: lastUsedAtMs === 0n ? null : instant(lastUsedAtMs),
  };
}

/** Renders what a user must prove. */
export function renderChallenge({ token, expiresAtMs, totp, recoveryCodes, passkeyOptionsJson }: ChallengeMessage): SecondFactorChallenge {
  return {
    token,
    expires_at: instant(expiresAtMs),
    totp,
    recovery_codes: recoveryCodes,
    passkey: passkeyOptionsJson === '' ? null : (JSON.parse(passkeyOptionsJson) as Record<string, unknown>),
  };
}

/** Returns the proof in a body; `language` is that of a mail about it. Raises invalid_request if there is none. */
export function proofOf(
  { token, totp_code: totpCode, recovery_code: recoveryCode, passkey }: ProveSecondFactor,
  language: string,
): SecondFactorProof {
  const proof = ((): SecondFactorProof['proof'] => {
    if (typeof totpCode === 'string') return { $case: 'totpCode', value: totpCode };
    if (typeof recoveryCode === 'string') return { $case: 'recoveryCode', value: recoveryCode };
    if (passkey !== undefined && passkey !== null) return { $case: 'passkeyResponseJson', value: JSON.stringify(passkey) };
    throw fieldFault('totp_code', 'required');
  })();
  return { challengeToken: token, proof, language };
}

/** Renders a factor that is being set up. */
export function renderEnrolment({ enrolment, setup }: BeginSecondFactorResponse): SecondFactorBegun {
  if (setup?.$case !== 'totpUri') return { enrolment, totp: null, passkey: JSON.parse(setup?.value ?? '{}') as Record<string, unknown> };
  const uri = setup.value;
  return { enrolment, totp: { secret: new URL(uri).searchParams.get('secret') ?? '', uri, qr: qrPath(uri) }, passkey: null };
}

/** Returns a QR code as the path of an SVG, one unit per module, with a quiet zone of four modules (ISO/IEC 18004, section 6.3.8). */
function qrPath(text: string): { size: number; path: string } {
  const { data, size } = encode(text, { border: 4 });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return { size, path };
}
