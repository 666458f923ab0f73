// Upstreams and their tests, for operators.
import { Type } from 'typebox';
import { words } from '../../render/catalog-words.js';
import { catalogBodies } from '../../routes/operator/catalog-bodies.js';
import { type Area, done, made, ok } from '../operation.js';
import { Count, Flag, listOf, nullable, Text, Time, Usd, view } from '../shapes.js';

const UpstreamTest = view('UpstreamTest', {
  at: Time,
  ok: Flag,
  failed_step: nullable(Text),
  upstream_model: nullable(Text),
  steps: Type.Array(Type.Object({ name: Text, outcome: Type.Enum(words.outcome.all), duration_ms: Count, what: Text })),
});

const Upstream = view('Upstream', {
  id: Text,
  api_format: Type.Enum(words.apiFormat.all),
  base_url: nullable(Text),
  has_secret: Flag,
  secret_last_four: nullable(Text, 'Null where there is no secret, or one of fewer than 12 characters.'),
  allow_private_network: Flag,
  enabled: Flag,
  locked: nullable(Type.Enum(['built_in', 'environment']), 'Why it is not changed here.'),
  managed_by: nullable(Text, 'The environment variable that sets it.'),
  created_at: nullable(Time),
  last_test: nullable(UpstreamTest),
  models: Type.Array(Type.Object({ id: Text, upstream_model: Text, retired: Flag, trial_cost_usd: nullable(Usd) }), {
    description: 'Those that are routed to it; trial_cost_usd is the most that a test by the model costs.',
  }),
});

const locked = { failed_precondition: 'It is built in or set by the environment.' };

export const upstreamArea: Area = {
  title: 'Operators: upstreams',
  description: 'Where calls go. Secrets go in and never come out.',
  operations: [
    {
      method: 'GET',
      path: '/operator/upstreams',
      summary: 'List the upstreams with their last tests; never in pages.',
      who: 'operator',
      answers: [ok(listOf(Upstream))],
    },
    {
      method: 'POST',
      path: '/operator/upstreams',
      summary: 'Add an upstream.',
      who: 'operator',
      body: catalogBodies.createUpstream.schema,
      answers: [made(Upstream)],
      refusals: { already_exists: 'There is one with this id.' },
    },
    {
      method: 'PATCH',
      path: '/operator/upstreams/{id}',
      summary: 'Change an upstream: what is absent stays as it is, the secret too.',
      who: 'operator',
      body: catalogBodies.updateUpstream.schema,
      answers: [ok(Upstream)],
      refusals: locked,
    },
    {
      method: 'DELETE',
      path: '/operator/upstreams/{id}',
      summary: 'Delete an upstream.',
      who: 'operator',
      query: { force: 'true: also where models are routed to it.' },
      answers: [done()],
      refusals: { failed_precondition: 'Models are routed to it, or it is built in or set by the environment.' },
    },
    {
      method: 'POST',
      path: '/operator/upstreams/{id}/test',
      summary: 'Test an upstream step by step; with `upstream_model`, by a call too.',
      who: 'operator',
      body: catalogBodies.testUpstream.schema,
      answers: [ok(UpstreamTest, 'What was found; it is kept with the upstream.')],
    },
  ],
};
