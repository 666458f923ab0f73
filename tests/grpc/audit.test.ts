// One audit log: a change writes the same event, whichever way it was made. audit-failures.distributed.test.ts shows that each event arrives once.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addUser, type Browser, password, signedIn } from '../support/clients/console.js';
import { grpcurlCall } from '../support/clients/grpcurl.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';
import { createAccount, deposit, events, eventsOf } from './audit-events.js';

const email = 'ada@example.com';

describe.each(modes)('the audit trail in %s mode', (mode) => {
  let system: System;
  let ada: Browser;

  beforeAll(async () => {
    system = await startSystem(mode);
    await addUser(system, email, password, '--operator');
    ada = await signedIn(system, email);
  });

  afterAll(() => system?.stop());

  /** Creates an account, adds funds to it and creates an upstream: changes in three services. Each way returns the account's id. */
  const ways: Record<string, (upstream: string) => Promise<string>> = {
    console: async (upstream) => {
      const { id } = await ada.must<{ id: string }>('POST', '/operator/accounts', { name: 'Acme' }, 201);
      const funds = { amount_usd: '5', source: 'cash', reason: 'Contract 7' };
      const added = await ada.ask('POST', `/operator/accounts/${id}/credits`, funds, { 'idempotency-key': 'contract 7' });
      expect(added.status).toBe(201);
      const fields = { id: upstream, api_format: 'messages', base_url: 'https://models.example.com/v1' };
      await ada.must('POST', '/operator/upstreams', { upstream: fields, secret: 'sk-of-the-upstream' }, 201);
      return id;
    },
    command: async (upstream) => {
      const { id } = await system.json<{ id: string }>('account', 'create', 'Acme');
      await system.cli('balance', 'deposit', '5', '--reason', 'Contract 7', '--account', id);
      await system.json(
        'upstream',
        'add',
        upstream,
        '--format',
        'messages',
        '--base-url',
        'https://models.example.com/v1',
        '--secret-env',
        'PATH',
      );
      return id;
    },
    grpcurl: async (upstream) => {
      const id = await createAccount(system);
      await grpcurlCall(system, 'tollgate.ledger.v1.LedgerService/Deposit', deposit(id, 'Contract 7'));
      await grpcurlCall(system, 'tollgate.inference.v1.InferenceService/PutUpstream', {
        upstream: { id: upstream, api_format: 'API_FORMAT_MESSAGES', base_url: 'https://models.example.com/v1', enabled: true },
        secret: 'sk-of-the-upstream',
      });
      return id;
    },
  };

  it('has the same events for changes from the console, the command and grpcurl, with the actor', async () => {
    const { user } = await ada.get<{ user: { id: string } }>('/me');
    const trails = await Promise.all(
      Object.entries(ways).map(async ([way, change]) => {
        const accountId = await change(`by-${way}`);
        const ofAccount = await eventsOf(system, accountId, 2);
        const upstream = await eventually(async () => (await events(system, '--target', `by-${way}`))[0]);
        return { way, accountId, trail: [...ofAccount.toReversed(), upstream] };
      }),
    );
    expect(trails.map(({ way }) => way)).toEqual(['console', 'command', 'grpcurl']);
    for (const { way, accountId, trail } of trails) {
      expect(trail.map(({ action, detail, account_id }) => ({ action, detail, account_id }))).toEqual([
        { action: 'account.create', detail: { name: 'Acme' }, account_id: accountId },
        {
          action: 'account.credit',
          detail: {
            amount_usd: '5',
            reason: 'Contract 7',
            source: 'cash',
            before: { available_usd: '0' },
            after: { available_usd: '5' },
          },
          account_id: accountId,
        },
        {
          action: 'upstream.create',
          detail: {
            api_format: 'messages',
            base_url: 'https://models.example.com/v1',
            allow_private_network: false,
            enabled: true,
            whole_answers: false,
            allowed_fields: [],
            secret: 'set',
          },
          account_id: null,
        },
      ]);
      const who =
        way === 'console'
          ? { actor: email, actor_user_id: user.id, address: '127.0.0.1', caller: 'gateway' }
          : { actor: 'operator CLI', actor_user_id: null, address: null, caller: 'operator' };
      expect([way, ...trail]).toMatchObject([way, who, who, who]);
    }
    expect(JSON.stringify(trails)).not.toContain('sk-of-the-upstream');
    expect(await system.json('audit', 'verify')).toMatchObject({ ok: true });
  });
});
