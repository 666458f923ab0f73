// Who may call inference.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';

/** The callers of each RPC beside the operator, who may call all. Only the operator touches upstreams and their secrets. */
export const inferencePolicy: PeerPolicy<keyof InferenceService> = {
  generate: ['gateway'],
  countTokens: ['gateway'],
  listUpstreams: ['gateway'],
  putUpstream: [],
  deleteUpstream: [],
  testUpstream: [],
};
