// Drains, ejects or returns a target, or one of its credentials.
import { fault, fieldFault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import {
  OverrideMode,
  type OverrideTargetRequest,
  type OverrideTargetResponse,
  type TargetOverride,
} from '#proto/inference/v1/inference.js';
import type { RpcDeps } from '../deps.js';

const ejectMs = { min: 1000, max: 86_400_000 };
const modelCharsMax = 200;

/** Implements InferenceService.OverrideTarget. */
export async function overrideTarget(
  { upstreamId, upstreamModel, credentialId, mode, ejectForMs }: OverrideTargetRequest,
  context: CallContext,
  { targets, registry, store, audit, clock }: RpcDeps,
): Promise<OverrideTargetResponse> {
  const { shown } = await registry.find(upstreamId);
  if (upstreamModel.trim() === '' || upstreamModel.length > modelCharsMax)
    throw fieldFault('upstream_model', 'length', { min: 1, max: modelCharsMax });
  assertHas(shown.credentials, credentialId);
  // A single credential is judged together with its target. It may have been drained while there were others, though.
  if (credentialId !== '' && shown.credentials.length < 2 && mode !== OverrideMode.OVERRIDE_MODE_RETURN)
    throw fieldFault('credential_id', 'single_credential');
  if (!(mode in modes)) throw fieldFault('mode', 'known');
  const isEjection = mode === OverrideMode.OVERRIDE_MODE_EJECT;
  if (isEjection && (ejectForMs < ejectMs.min || ejectForMs > ejectMs.max)) throw fieldFault('eject_for_ms', 'range', ejectMs);
  const nowMs = clock.nowMs();
  const untilMs = isEjection ? BigInt(nowMs + ejectForMs) : 0n;
  const override: TargetOverride = { upstreamId, upstreamModel, credentialId, mode, setAtMs: BigInt(nowMs), untilMs };
  const detail = {
    upstream_model: upstreamModel,
    ...(credentialId === '' ? {} : { credential: credentialId }),
    mode: modes[mode as keyof typeof modes],
    ...(isEjection ? { eject_for_ms: ejectForMs } : {}),
  };
  await targets.override(override, async (tx) => {
    if (!registry.isManaged(upstreamId)) {
      // If one of them is removed meanwhile, the override would remain, for the next one with its name.
      const present = await store.lock(tx, upstreamId);
      if (present === undefined) throw fault('no_such_id', { what: 'upstream' });
      assertHas(present.credentials, credentialId);
    }
    await audit.append(tx, context, { action: 'upstream.override', targetId: upstreamId, detail });
  });
  await registry.reload();
  return { override };
}

/** Raises not_found unless there is the credential; an empty id stands for all of them. */
function assertHas(credentials: readonly { readonly id: string }[], credentialId: string): void {
  if (credentialId !== '' && !credentials.some(({ id }) => id === credentialId)) throw fault('no_such_id', { what: 'credential' });
}

const modes = {
  [OverrideMode.OVERRIDE_MODE_DRAIN]: 'drain',
  [OverrideMode.OVERRIDE_MODE_EJECT]: 'eject',
  [OverrideMode.OVERRIDE_MODE_RETURN]: 'return',
} as const;
