// RotateCaller: replaces the certificate of a caller.
import { AppError } from '#client/errors/app-error.js';
import type { CallContext } from '#client/call-context.js';
import type { RotateCallerRequest, RotateCallerResponse } from '#proto/auth/v1/callers.js';
import { checkedOverlap, invalidField } from '../../requests/fields.js';
import { found } from '../../requests/found.js';
import type { CallerDeps } from '../deps.js';
import { checkedCertificate } from '../fields.js';

// The new certificate and those that it replaces, the latest first.
const certificatesMax = 5;

/** Raises invalid_request, not_found, and failed_precondition for a caller that is revoked or has a certificate of another PKI. */
export async function rotateCaller(request: RotateCallerRequest, context: CallContext, deps: CallerDeps): Promise<RotateCallerResponse> {
  const { callers, audit, feed, clock, log } = deps;
  const nowMs = clock.nowMs();
  if (request.certificate === undefined) throw invalidField('certificate', 'certificate is required.');
  const certificate = checkedCertificate(request.certificate, nowMs);
  const untilMs = BigInt(nowMs) + checkedOverlap(request.overlapMs);
  const changed = await callers.change(
    request.name,
    (before) => {
      if (before.revokedAtMs !== undefined) throw new AppError('failed_precondition', `"${before.name}" is revoked; add it again instead.`);
      if (before.certificates.length === 0) {
        throw new AppError('failed_precondition', `The certificates of "${before.name}" are issued by another PKI; rotate them there.`);
      }
      const previous = before.certificates
        .map((each) => ({
          ...each,
          validUntilMs: each.validUntilMs === undefined || each.validUntilMs > untilMs ? untilMs : each.validUntilMs,
        }))
        .filter(({ validUntilMs }) => validUntilMs > BigInt(nowMs));
      return { ...before, certificates: [certificate, ...previous].slice(0, certificatesMax), rotatedAtMs: BigInt(nowMs) };
    },
    (tx, { name }) => audit.append(tx, context, { action: 'caller.rotate', targetId: name, detail: { overlap_ms: request.overlapMs } }),
  );
  const caller = found(changed, 'caller');
  feed.wake();
  log.info({ caller_name: caller.name }, 'caller rotated');
  return { caller };
}
