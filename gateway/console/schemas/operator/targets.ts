// The targets of models and their health, for operators.
import { type Static, Type } from 'typebox';
import { Count, listOf, nullable, optional, Text, textOf, Time, view } from '../shapes.js';
import { ejectionCauses, overrideModes, targetStates } from '../words.js';

const TargetHealth = Type.Object({
  process: Text,
  credential: nullable(Text, 'Null: the target itself.'),
  state: Type.Enum(targetStates),
  cause: nullable(Type.Enum(ejectionCauses), 'Why it is ejected.'),
  since: nullable(Time, 'When it came into this state. Null: it never changed.'),
  until: nullable(Time, 'When it may be called again; an ejected one is then tried by one call.'),
  failures: Type.Integer({ minimum: 0, description: 'Failures in a row.' }),
  reason: nullable(Text, 'Of the last failure.'),
  latency_ms: nullable(Count, 'The recent time to the first token.'),
  recent_calls: Count,
  recent_failures: Type.Integer({ minimum: 0, description: 'Recent calls that failed or responded late.' }),
});

export const RoutedTarget = view('Target', {
  upstream_id: Text,
  upstream_model: Text,
  drained: Type.Boolean({ description: 'The operator drained it: it gets no calls.' }),
  drained_credentials: Type.Array(Text, { description: 'Those of its credentials that the operator drained.' }),
  models: Type.Array(Text, { description: 'The models that are routed to it, without retired ones.' }),
  health: Type.Array(TargetHealth, {
    description: 'In each process that has called it. Processes report this for half a minute after each request, once they are called.',
  }),
});
export const TargetList = listOf(RoutedTarget);
export type RoutedTarget = Static<typeof RoutedTarget>;
export type TargetHealth = RoutedTarget['health'][number];
export type OverrideMode = (typeof overrideModes)[number];

export const OverrideTarget = Type.Object({
  upstream_id: textOf(1, 100),
  upstream_model: textOf(1, 200),
  credential: optional(textOf(1, 64)),
  mode: Type.Enum(overrideModes),
  eject_for_ms: optional(Type.Integer({ minimum: 1000, maximum: 86_400_000, description: 'How long to eject it; 10 minutes if absent.' })),
});
