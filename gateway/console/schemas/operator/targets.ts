// The targets of models and their health, for operators.
import { type Static, Type } from 'typebox';
import { Count, listOf, nullable, optional, Text, textOf, Time, view } from '../shapes.js';
import { ejectionCauses, overrideModes, targetStates } from '../words.js';

const TargetHealth = Type.Object({
  process: Text,
  credential: nullable(Text, 'Null: this is the state of the target itself.'),
  state: Type.Enum(targetStates),
  cause: nullable(Type.Enum(ejectionCauses), 'Why it is ejected.'),
  since: nullable(Time, 'When this state began. Null: it has never changed.'),
  until: nullable(Time, 'When it may be called again. An ejected target is then tried with one call.'),
  failures: Type.Integer({ minimum: 0, description: 'Consecutive failures.' }),
  reason: nullable(Text, 'The reason of the last failure.'),
  latency_ms: nullable(Count, 'The recent time to the first token.'),
  recent_calls: Count,
  recent_failures: Type.Integer({ minimum: 0, description: 'Recent calls that failed or responded late.' }),
});

export const RoutedTarget = view('Target', {
  upstream_id: Text,
  upstream_model: Text,
  drained: Type.Boolean({ description: 'Whether an operator drained it, so that it gets no calls.' }),
  drained_credentials: Type.Array(Text, { description: 'Its credentials that an operator drained.' }),
  models: Type.Array(Text, { description: 'The models that are routed to it, except retired ones.' }),
  health: Type.Array(TargetHealth, {
    description: 'Its state in each process that has called it. A process reports this for half a minute after each request for it.',
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
