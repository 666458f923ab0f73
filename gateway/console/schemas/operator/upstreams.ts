// Upstreams and their tests, for operators.
import { type Static, Type } from 'typebox';
import { choice, Count, Flag, listOf, nullable, optional, Text, textOf, Time, Usd, view } from '../shapes.js';
import { testResults, upstreamFormats } from '../words.js';

export const UpstreamTest = view('UpstreamTest', {
  at: Time,
  ok: Flag,
  failed_step: nullable(Text),
  upstream_model: nullable(Text),
  steps: Type.Array(Type.Object({ name: Text, outcome: Type.Enum(testResults), duration_ms: Count, what: Text })),
});

const own = (what: string) => nullable(Type.Integer({ minimum: 1 }), `${what} Null: the setting of all upstreams.`);
const UpstreamLimits = Type.Object(
  {
    connect_timeout_ms: own('The time limit for connecting.'),
    first_token_timeout_ms: own('The time limit from sending the request to the first event, or to the end of a whole answer.'),
    slow_first_token_ms: nullable(
      Type.Integer({ minimum: 1 }),
      'An answer that begins later than this counts as a failure in the failure rate. Null: half of the first-token timeout.',
    ),
    idle_timeout_ms: own('The time limit between two reads of a response.'),
    total_timeout_ms: own('The time limit of one attempt.'),
    calls_max: own('The maximum number of calls in flight from one process.'),
    requests_per_minute: nullable(
      Type.Integer({ minimum: 1 }),
      'The number of requests that the vendor allows each credential in 60 seconds, counted by each process. Null: not counted.',
    ),
    probe_interval_ms: nullable(
      Type.Integer({ minimum: 1 }),
      'How often to request its list of models while a target is ejected, to detect when it works again. Null: never.',
    ),
    tokens_per_minute: nullable(Type.Integer({ minimum: 1 }), 'The same for input and output tokens. Null: not counted.'),
  },
  { description: 'The limits of this upstream alone.' },
);

const Credential = Type.Object(
  { id: Text, secret_last_four: nullable(Text), set_at: nullable(Time) },
  { description: 'A secret that is sent with requests. Calls are spread over all credentials of an upstream.' },
);

export const Upstream = view('Upstream', {
  id: Text,
  api_format: Type.Enum(upstreamFormats),
  base_url: nullable(Text),
  has_secret: Flag,
  secret_last_four: nullable(Text, 'Null where there is no secret, or one of fewer than 12 characters.'),
  credentials: Type.Array(Credential),
  allow_private_network: Flag,
  enabled: Flag,
  whole_answers: Flag,
  limits: UpstreamLimits,
  allowed_fields: Type.Array(Text),
  locked: nullable(Type.Enum(['built_in', 'environment']), 'Why it cannot be changed here.'),
  managed_by: nullable(Text, 'The environment variable that sets it.'),
  created_at: nullable(Time),
  last_test: nullable(UpstreamTest),
  models: Type.Array(Type.Object({ id: Text, upstream_model: Text, retired: Flag, trial_cost_usd: nullable(Usd) }), {
    description: 'The models routed to it. `trial_cost_usd` is the most that a test with the model can cost.',
  }),
});

export type UpstreamTest = Static<typeof UpstreamTest>;
export type Upstream = Static<typeof Upstream>;
export const UpstreamList = listOf(Upstream);

const upstreamBody = {
  api_format: Type.Enum(['chat_completions', 'messages', 'responses']),
  base_url: textOf(0, 2048),
  allow_private_network: Type.Boolean(),
  enabled: Type.Boolean(),
  whole_answers: Type.Boolean({ description: 'Whether short responses are not streamed when the client does not stream.' }),
  limits: Type.Optional(Type.Partial(UpstreamLimits)),
  allowed_fields: Type.Array(textOf(1, 64), {
    maxItems: 32,
    description: 'Request fields that clients may send to it in addition to the standard fields: names, or paths with dots.',
  }),
};
const UpstreamBody = Type.Object(upstreamBody);
/** The fields of an upstream that an operator sets. */
export type UpstreamFields = Static<typeof UpstreamBody>;

export const CreateUpstream = Type.Object({
  upstream: Type.Object({
    id: textOf(0, 100),
    ...upstreamBody,
    allow_private_network: Type.Optional(Type.Boolean()),
    enabled: Type.Optional(Type.Boolean()),
    whole_answers: Type.Optional(Type.Boolean()),
    allowed_fields: Type.Optional(upstreamBody.allowed_fields),
  }),
  secret: optional(textOf(0, 1024)),
});
/** Absent fields are unchanged, including the secret; an empty secret or null removes it. */
export const UpdateUpstream = Type.Object({
  upstream: Type.Optional(Type.Partial(UpstreamBody)),
  secret: optional(textOf(0, 1024)),
});
export const TestUpstream = Type.Object({ upstream_model: optional(textOf(1, 200)) });
export const PutCredential = Type.Object({
  secret: textOf(1, 1024),
  create_only: Type.Optional(
    Type.Boolean({ description: 'Whether to fail with `already_exists` if the upstream has the credential. Default: false.' }),
  ),
});
export const DeleteUpstream = Type.Object({ force: choice(['true', 'false'], 'true: delete it even if models are routed to it.') });
