// The check of `tollgate doctor` for upstreams whose calls or tests fail. Pure.
import { EjectionCause, type TargetHealth, TargetState, type Upstream } from '#proto/inference/v1/inference.js';
import { CliError } from '../errors.js';
import { counted, instant } from '../output.js';

/** An upstream may serve hundreds of models. */
const targetsShownMax = 3;

/** Raises a CliError when recent calls to an enabled upstream failed, or its last test did. */
export function checkUpstreams(enabled: readonly Upstream[], targets: readonly TargetHealth[]): void {
  const failing = enabled.flatMap(({ id }) => failingOf(id, targets));
  if (failing.length > 0) {
    throw new CliError(`Calls to ${counted(failing.length, 'target')} fail: ${listed(failing)}.`, {
      fix: 'Run `tollgate upstream health` and `tollgate upstream test`; docs/runbooks/upstream-failing.md has the steps.',
    });
  }
  const tested = enabled.find(({ lastTest }) => lastTest?.ok === false);
  if (tested === undefined) return;
  const { id, lastTest } = tested;
  throw new CliError(`The last test of ${id} failed at the step "${lastTest!.failedStep}" at ${instant(lastTest!.startedAtMs)}.`, {
    fix: `Run \`tollgate upstream test ${id}\` again, and follow its advice.`,
  });
}

/** Returns one text for each target or credential of the upstream that failed too often in any process. */
function failingOf(upstreamId: string, targets: readonly TargetHealth[]): string[] {
  const failing = targets.filter(
    ({ upstreamId: of, state, cause }) =>
      of === upstreamId &&
      (state === TargetState.TARGET_STATE_FAILING ||
        (state === TargetState.TARGET_STATE_EJECTED && cause !== EjectionCause.EJECTION_CAUSE_OPERATOR)),
  );
  const texts = failing.map(({ upstreamModel, credentialId, reason }) => {
    const credential = credentialId === '' ? '' : ` with the credential ${credentialId}`;
    return `${upstreamModel} at ${upstreamId}${credential}${reason === '' ? '' : ` (${reason})`}`;
  });
  return [...new Set(texts)];
}

function listed(texts: readonly string[]): string {
  const more = texts.length - targetsShownMax;
  return [...texts.slice(0, targetsShownMax), ...(more > 0 ? [`${more} more`] : [])].join(', ');
}
