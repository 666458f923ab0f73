// ReportCallersSeen: records when services last admitted callers.
import type { CallContext } from '#client/call-context.js';
import type { ReportCallersSeenRequest, ReportCallersSeenResponse } from '#proto/auth/v1/callers.js';
import { invalidField } from '../../requests/fields.js';
import { callersMax } from '../caller-store.js';
import type { CallerDeps } from '../deps.js';

/** Raises invalid_request. An instant in the future counts as now. */
export async function reportCallersSeen(
  { sightings }: ReportCallersSeenRequest,
  _context: CallContext,
  { callers, clock }: CallerDeps,
): Promise<ReportCallersSeenResponse> {
  if (sightings.length > callersMax) throw invalidField('sightings', `sightings must have at most ${callersMax} entries.`);
  const nowMs = BigInt(clock.nowMs());
  await callers.noteSeen(sightings.map(({ name, atMs }) => ({ name, atMs: atMs > nowMs ? nowMs : atMs })));
  return {};
}
