// The probes with which a test of an upstream checks whether a model has the capabilities that the catalog lists. Pure.
import { Capability, Modality, type Model, ModelState } from '#proto/catalog/v1/catalog.js';
import { CapabilityProbe } from '#proto/inference/v1/inference.js';

/** Returns the probes for the capabilities that the catalog lists for a model of an upstream; none if no entry routes to it. */
export function declaredProbes(models: readonly Model[], upstreamId: string, upstreamModel: string): CapabilityProbe[] {
  const entries = models.filter(
    ({ state, targets }) =>
      state !== ModelState.MODEL_STATE_RETIRED &&
      targets.some((each) => each.upstreamId === upstreamId && each.upstreamModel === upstreamModel),
  );
  if (entries.length === 0) return [];
  const can = (capability: Capability): boolean => entries.some(({ capabilities }) => capabilities.includes(capability));
  if (entries.some(({ outputModalities }) => outputModalities.includes(Modality.MODALITY_EMBEDDING)))
    return [CapabilityProbe.CAPABILITY_PROBE_EMBEDDINGS];
  return [
    ...(can(Capability.CAPABILITY_TOOLS) ? [CapabilityProbe.CAPABILITY_PROBE_TOOLS] : []),
    ...(can(Capability.CAPABILITY_STRUCTURED_OUTPUT) ? [CapabilityProbe.CAPABILITY_PROBE_STRUCTURED_OUTPUT] : []),
    ...(entries.some(({ inputModalities }) => inputModalities.includes(Modality.MODALITY_IMAGE))
      ? [CapabilityProbe.CAPABILITY_PROBE_IMAGES]
      : []),
    CapabilityProbe.CAPABILITY_PROBE_ANSWERS,
  ];
}

/** The output cap of the call of each probe, in tokens: enough for models that reason first. */
export const probeOutputTokens = 1024;

/** The most input tokens of the call of each probe, the tokens of its image included. */
export const probeInputTokens = (probe: CapabilityProbe): number => (probe === CapabilityProbe.CAPABILITY_PROBE_IMAGES ? 20_000 : 2000);

/** Returns the most tokens that a test with a model uses, all calls together. */
export function testTokens(probes: readonly CapabilityProbe[]): { readonly input: number; readonly output: number } {
  // The first call returns a vector, or at most 16 tokens; the rules of calls bound the input "Hi" by 66.
  if (probes.includes(CapabilityProbe.CAPABILITY_PROBE_EMBEDDINGS)) return { input: 66, output: 0 };
  const answers = probes.length + (probes.includes(CapabilityProbe.CAPABILITY_PROBE_ANSWERS) ? 1 : 0);
  return {
    input: probes.reduce((sum, probe) => sum + probeInputTokens(probe), 66),
    output: 16 + answers * probeOutputTokens,
  };
}
