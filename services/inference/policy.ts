// Who may call inference.
import type { PeerPolicy } from '#kit/rpc/peer-policy.js';
import type { InferenceService } from '#proto/inference/v1/inference.js';

/**
 * The callers of each RPC beside the operator, who may call all. The gateway changes upstreams for operators who are signed in to its console:
 * secrets pass through it inwards, and never come back.
 */
export const inferencePolicy: PeerPolicy<keyof InferenceService> = {
  generate: ['gateway'],
  countTokens: ['gateway'],
  listUpstreams: ['gateway'],
  putUpstream: ['gateway'],
  deleteUpstream: ['gateway'],
  testUpstream: ['gateway'],
  getHealth: ['gateway'],
};
