// Audit events reach the audit log exactly once while auth and the services that write them are stopped and killed.
import { readFileSync } from 'node:fs';
import { credentials, loadPackageDefinition, type ServiceClientConstructor, type ServiceError } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { grpcurlCall } from '../support/clients/grpcurl.js';
import { eventually } from '../support/systems/process.js';
import { killOne, pidsOf, startedSince } from '../support/systems/processes.js';
import { startSystem, type System } from '../support/systems/system.js';
import { createAccount, deposit, events } from './audit-events.js';

const startMsMax = 30_000;

describe('audit events while processes fail', () => {
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
