// Creates an account with sample data: users, keys in several states, calls that succeeded and failed, and money movements.
import { chat, settled } from '../support/clients/calls.js';
import { addUser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { addModel } from '../support/stub-models.js';
import type { System } from '../support/systems/system.js';

/** The created account and some of its data. */
export interface SampleAccount {
  readonly accountId: string;
  readonly owner: { readonly email: string; readonly password: string };
  readonly projectId: string;
  readonly keyId: string;
  readonly secret: string;
  /** Request id of a call that was charged. */
  readonly requestId: string;
  /** Request id of a call that the third upstream answered after two had failed. */
  readonly thirdTimeId: string;
  /** Token of an invitation for a new user. */
  readonly invitationToken: string;
}

/** Fills an account of a new system. Its owner is also an operator. */
export async function createSampleAccount(system: System): Promise<SampleAccount> {
  await system.cli(
    'caller',
    'add',
    'billing-team',
    '--may',
    'ledger.read',
    'metering.read',
    '--identity',
    'spiffe://example.com/ns/billing/sa/monthly-report',
  );
  const owner = { email: 'owner@example.com', password };
  const { id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme Robotics');
  await system.cli('balance', 'deposit', '25', '--account', accountId, '--reason', 'invoice 2026-117');
  await addUser(system, owner.email, password, '--name', 'Olga Owner', '--operator');
  await addUser(system, 'dev@example.com', password, '--name', 'Dana Developer');
  await system.cli('member', 'put', owner.email, '--role', 'owner', '--account', accountId);
  await system.cli('member', 'put', 'dev@example.com', '--role', 'developer', '--account', accountId);

  const browser = await signedIn(system, owner.email);
  const make = (body: object) => browser.must<{ key: { id: string }; secret: string }>('POST', `/accounts/${accountId}/keys`, body, 201);
  const { id: projectId } = await browser.must<{ id: string }>(
    'POST',
    `/accounts/${accountId}/projects`,
    {
      name: 'Search',
      budgets: [
        { period: 'month', limit_usd: '50', alert_at: [50, 80, 100] },
        { period: 'day', limit_usd: '5', soft: true, alert_at: [100] },
      ],
    },
    201,
  );
  const budgets = [{ period: 'month', limit_usd: '20', alert_at: [80] }];
  const { key, secret } = await make({ name: 'production server', project_id: projectId, limit_usd: '10', budgets });
  const { key: disabled } = await make({
    name: 'old laptop',
    models: ['sandbox/echo', 'sandbox/story'],
    expires_at: '2027-06-30T12:00:00Z',
  });
  await browser.must('PATCH', `/accounts/${accountId}/keys/${disabled.id}`, { state: 'disabled' }, 200);

  const { token: invitationToken } = await browser.must<{ token: string }>(
    'POST',
    `/accounts/${accountId}/invitations`,
    { email: 'new.colleague@example.com', role: 'billing' },
    201,
  );

  await browser.must(
    'POST',
    '/operator/upstreams',
    {
      upstream: { id: 'own-server', api_format: 'chat_completions', base_url: 'http://127.0.0.1:9/v1', allow_private_network: true },
      secret: 'sk-sample-0123',
    },
    201,
  );
  await browser.must('POST', '/operator/upstreams/own-server/test', {}, 200);
  const thirdTimeId = await callThatFailsTwice(system, secret);
  let requestId = '';
  for (const model of ['sandbox/echo', 'sandbox/story', 'sandbox/echo', 'sandbox/reason', 'sandbox/drop']) {
    const response = await chat(system, secret, { model, messages: [{ role: 'user', content: 'Hello there, how are you today?' }] });
    await response.text();
    if (response.ok) requestId = response.headers.get('x-request-id')!;
  }
  const refused = await chat(system, secret, { model: 'acme/unknown', messages: [{ role: 'user', content: 'Hello' }] });
  await refused.text();
  await settled(system, accountId);
  await system.cli('price', 'draft', 'sandbox/story', '--input', '0.35', '--output', '2.5', '--cache-read', '0');
  return { accountId, owner, projectId, keyId: key.id, secret, requestId, thirdTimeId, invitationToken };
}

/** Calls a model whose first upstream is unreachable and whose second rejects the call. Returns the request id. */
async function callThatFailsTwice(system: System, secret: string): Promise<string> {
  const targets = [
    ['own-server', 'assistant-large'],
    ['sandbox', 'fail-429'],
    ['sandbox', 'echo'],
  ].map(([upstream_id, upstream_model]) => ({ upstream_id, upstream_model }));
  await addModel(system, 'acme/assistant', '', '', { display_name: 'Acme Assistant', targets });
  return eventually(async () => {
    const response = await chat(system, secret, {
      model: 'acme/assistant',
      messages: [{ role: 'user', content: 'Hello there, how are you today?' }],
    });
    await response.text();
    return response.ok ? response.headers.get('x-request-id')! : undefined;
  });
}
