// One audit trail: a change leaves the same event, whichever way it was made, and exactly once, whatever fails before the event
// reaches the audit log.
import { readFileSync } from 'node:fs';
import { credentials, loadPackageDefinition, type ServiceClientConstructor, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { addUser, Browser } from '../support/console.js';
import { grpcurlCall } from '../support/grpcurl.js';
import { eventually } from '../support/process.js';
import { killOne, pidsOf, startedSince } from '../support/processes.js';
import { modes, startSystem, type System } from '../support/system.js';

const email = 'ada@example.com';
const password = 'correct horse battery';
const describeIfDistributed = modes.includes('distributed') ? describe : describe.skip;
const startMsMax = 30_000;

interface Event {
  actor: string;
  actor_user_id: string | null;
  address: string | null;
  caller: string;
  account_id: string | null;
  action: string;
  target_id: string;
  detail: { reason?: string };
}

/** The events that the operator's command lists, newest first. */
async function events(system: System, ...filter: string[]): Promise<Event[]> {
  const printed = (await system.cli('audit', 'list', ...filter, '--all', '--json')).trim();
  return printed === '' ? [] : printed.split('\n').map((line) => JSON.parse(line) as Event);
}

/** Waits until an account has this many events. */
const eventsOf = (system: System, accountId: string, count: number): Promise<Event[]> =>
  eventually(async () => {
    const found = await events(system, '--account', accountId);
    return found.length >= count ? found : undefined;
  });

const createAccount = async (system: System): Promise<string> =>
  (await grpcurlCall<{ account: { id: string } }>(system, 'tollgate.auth.v1.AuthService/CreateAccount', { name: 'Acme' })).account.id;

const deposit = (accountId: string, reason: string) => ({
  idempotency_key: reason,
  account_id: accountId,
  amount_nano_usd: '5000000000',
  source: 'DEPOSIT_SOURCE_CASH',
  reason,
});

describe.each(modes)('the audit trail in %s mode', (mode) => {
  let system: System;
  let ada: Browser;

  beforeAll(async () => {
    system = await startSystem(mode);
    await addUser(system, email, password, '--operator');
    ada = new Browser(system);
    await ada.signIn(email, password);
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
        ...['upstream', 'add', upstream, '--format', 'messages', '--base-url', 'https://models.example.com/v1'],
        ...['--secret-env', 'PATH'],
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

  it('has the same events of the console, the command and grpcurl, with who acted', async () => {
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

describeIfDistributed('audit events while processes fail', () => {
  let system: System;
  let accountId: string;

  beforeAll(async () => {
    system = await startSystem('distributed', { TOLLGATE_DISTRIBUTED_RESTART_DELAY: '200ms' });
    accountId = await createAccount(system);
  });

  afterAll(() => system?.stop());

  const call = <T>(rpc: string, request: object): Promise<T> => grpcurlCall<T>(system, rpc, request);
  const putUpstream = (id: string, enabled: boolean) =>
    call('tollgate.inference.v1.InferenceService/PutUpstream', {
      upstream: { id, api_format: 'API_FORMAT_MESSAGES', base_url: 'https://models.example.com/v1', enabled },
    });
  const publishPrice = (output: string) =>
    call('tollgate.catalog.v1.CatalogService/PublishPrice', {
      price: { model_id: 'sandbox/echo', input_nano_usd_per_mtok: '1000000000', output_nano_usd_per_mtok: output },
    });

  /** A deposit that returns as soon as the ledger has answered, in this process. */
  async function depositQuickly(request: object): Promise<void> {
    const env = system.operatorEnv();
    const file = (name: string): Buffer => readFileSync(env[`TOLLGATE_TLS_${name}`]!);
    const loaded = loadPackageDefinition(
      loadSync('tollgate/ledger/v1/ledger.proto', { includeDirs: ['proto'], longs: String, enums: String, keepCase: true }),
    ) as unknown as { tollgate: { ledger: { v1: { LedgerService: ServiceClientConstructor } } } };
    const tls = credentials.createSsl(file('CA'), file('KEY'), file('CERT'));
    const client = new loaded.tollgate.ledger.v1.LedgerService(env['TOLLGATE_LEDGER_ADDRESS']!, tls);
    const method = client['Deposit'] as (request: object, options: object, done: (error: ServiceError | null) => void) => void;
    await new Promise<void>((resolve, reject) => {
      method.call(client, request, { deadline: Date.now() + 10_000 }, (error) => (error === null ? resolve() : reject(error)));
    }).finally(() => client.close());
  }

  /** Kills the ledger and waits until it serves again. */
  async function restartLedger(): Promise<void> {
    const killedAtMs = Date.now();
    await killOne(system, 'ledger')();
    await eventually(() => startedSince(system, 'ledger', killedAtMs), startMsMax);
  }

  /** The events of deposits into an account, once the event of a later deposit has arrived: a service ships its events in order. */
  async function creditsBeforeLast(account: string, last: string): Promise<(string | undefined)[]> {
    await depositQuickly(deposit(account, last));
    const credits = await eventually(async () => {
      const found = await events(system, '--account', account, '--action', 'account.credit');
      return found.some(({ detail }) => detail.reason === last) ? found : undefined;
    }, startMsMax);
    return credits.map(({ detail }) => detail.reason).toReversed();
  }

  it('arrive once when auth was stopped and killed during the changes', async () => {
    const stopped = pidsOf(system).auth;
    process.kill(stopped, 'SIGSTOP');
    await publishPrice('2000000000');
    await putUpstream('late', true);
    await call('tollgate.ledger.v1.LedgerService/Deposit', deposit(accountId, 'while auth was stopped'));
    const killedAtMs = Date.now();
    await killOne(system, 'auth')();
    await eventually(() => startedSince(system, 'auth', killedAtMs), startMsMax);

    // Later changes in the same services, whose events follow.
    await publishPrice('3000000000');
    await putUpstream('late', false);
    const actions = async (...filter: string[]): Promise<string[]> => (await events(system, ...filter)).map(({ action }) => action);
    await eventually(async () => ((await actions('--target', 'late')).includes('upstream.update') ? true : undefined), startMsMax);
    expect(await actions('--target', 'late')).toEqual(['upstream.update', 'upstream.create']);
    const published = ['--target', 'sandbox/echo', '--action', 'price.publish'];
    await eventually(async () => ((await actions(...published)).length >= 2 ? true : undefined), startMsMax);
    expect(await actions(...published)).toEqual(['price.publish', 'price.publish']);
    expect(await creditsBeforeLast(accountId, 'after auth')).toEqual(['while auth was stopped', 'after auth']);
    expect(await system.json('audit', 'verify')).toMatchObject({ ok: true });
  }, 120_000);

  it('arrive once when the ledger was killed as soon as it had answered', async () => {
    const account = await createAccount(system);
    for (const reason of ['first', 'second', 'third']) {
      await depositQuickly(deposit(account, reason));
      await restartLedger();
    }
    // The ledger dies while auth has its events on the wire, and sends them again after the restart.
    const auth = pidsOf(system).auth;
    process.kill(auth, 'SIGSTOP');
    await depositQuickly(deposit(account, 'fourth'));
    const killedAtMs = Date.now();
    await killOne(system, 'ledger')();
    process.kill(auth, 'SIGCONT');
    await eventually(() => startedSince(system, 'ledger', killedAtMs), startMsMax);
    // A repeat of a deposit that was made leaves no event.
    await depositQuickly(deposit(account, 'fourth'));
    expect(await creditsBeforeLast(account, 'last')).toEqual(['first', 'second', 'third', 'fourth', 'last']);
    expect(await system.json('audit', 'verify')).toMatchObject({ ok: true });
  }, 120_000);
});
