// The services as seen by third-party programs, grpcurl and Python's gRPC, which get the contracts only from server reflection.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { chat } from '../support/clients/calls.js';
import { grpcurl, grpcurlCall, type ServiceName } from '../support/clients/grpcurl.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

const run = promisify(execFile);
const names = ['auth', 'catalog', 'ledger', 'metering', 'inference'] as const;

describe.each(modes)('programs in %s mode', (mode) => {
  let system: System;

  beforeAll(async () => {
    system = await startSystem(mode);
  });

  afterAll(() => system?.stop());

  const call = (service: ServiceName, flags: string[], ...args: string[]): Promise<string> => grpcurl(system, service, flags, ...args);

  const lines = (text: string): string[] => text.trim().split('\n');

  it('lists every service, health and reflection', async () => {
    for (const name of names) {
      const listed = lines(await call(name, [], 'list'));
      expect(listed.some((each) => each.startsWith(`tollgate.${name}.v1.`))).toBe(true);
      expect(listed).toEqual(expect.arrayContaining(['grpc.health.v1.Health', 'grpc.reflection.v1.ServerReflection']));
    }
  });

  // To describe a service, grpcurl resolves every type of its file and of what that imports.
  it('describes every service, and its messages', async () => {
    for (const name of names) {
      const services = lines(await call(name, [], 'list')).filter(
        (each) => each.startsWith(`tollgate.${name}.`) || each.startsWith('grpc.health'),
      );
      expect(services.length).toBeGreaterThan(1);
      for (const service of services) {
        const described = await call(name, [], 'describe', service);
        const messages = [...described.matchAll(/[(] (?:stream )?\.([\w.]+) [)]/g)].map(([, message]) => message!);
        expect(messages.length).toBeGreaterThanOrEqual(2);
        const last = messages.at(-1)!;
        expect(await call(name, [], 'describe', last)).toContain(`message ${last.split('.').at(-1)}`);
      }
    }
  });

  it('shows which grant an RPC requires', async () => {
    expect(await call('ledger', [], 'describe', 'tollgate.ledger.v1.LedgerService.GetBalance')).toContain('ledger.read');
  });

  it('calls RPCs, and reads the health of each service', async () => {
    const { accounts } = JSON.parse(await call('auth', [], 'tollgate.auth.v1.AuthService/ListAccounts')) as { accounts: { id: string }[] };
    const request = JSON.stringify({ account_id: accounts[0]!.id });
    const { balance } = JSON.parse(await call('ledger', ['-d', request], 'tollgate.ledger.v1.LedgerService/GetBalance')) as {
      balance: { accountId: string; availableNanoUsd: string };
    };
    expect(balance.accountId).toBe(accounts[0]!.id);
    expect(BigInt(balance.availableNanoUsd)).toBeGreaterThan(0n);
    for (const name of names) {
      expect(JSON.parse(await call(name, ['-d', '{"service":""}'], 'grpc.health.v1.Health/Check'))).toEqual({ status: 'SERVING' });
    }
  });

  it('reads an error with its reason, its details and the wrong field', async () => {
    const request = JSON.stringify({ name: '' });
    const refused = await call('auth', ['-format-error', '-d', request], 'tollgate.auth.v1.AuthService/CreateAccount').catch(
      (error: { stderr: string }) => error.stderr,
    );
    expect(JSON.parse(refused)).toMatchObject({
      code: 3,
      details: [
        { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'INVALID_REQUEST', domain: 'tollgate', metadata: { field: 'name' } },
        { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'name' }] },
      ],
    });
  });

  // The operator's address and certificate, by service.
  function targets(): Record<string, Record<string, string>> {
    const env = system.operatorEnv();
    const tls = { ca: env['TOLLGATE_TLS_CA']!, cert: env['TOLLGATE_TLS_CERT']!, key: env['TOLLGATE_TLS_KEY']! };
    const target = (name: string): Record<string, string> =>
      mode === 'single'
        ? { address: `unix:${join(system.dataDir, 'tollgate.sock')}` }
        : { address: env[`TOLLGATE_${name.toUpperCase()}_ADDRESS`]!, ...tls };
    return Object.fromEntries(names.map((name) => [name, target(name)]));
  }

  it('reads every list of pages without gaps and repeats, and rejects page tokens of other lists', async () => {
    const { id } = await system.json<{ id: string }>('account', 'list');
    for (const name of ['one', 'two']) {
      const { key } = await grpcurlCall<{ key: { id: string; version: string } }>(system, 'tollgate.auth.v1.AuthService/CreateKey', {
        account_id: id,
        name,
        idempotency_key: name,
      });
      await grpcurlCall(system, 'tollgate.ledger.v1.LedgerService/Hold', {
        hold_id: `req_${Date.now().toString(16).padStart(12, '0')}7${'0'.repeat(19)}`,
        account_id: id,
        key_id: key.id,
        key_limit: { version: key.version },
        amount_nano_usd: 1000,
        min_amount_nano_usd: 1000,
        ttl_ms: 600_000,
      });
      await grpcurlCall(system, 'tollgate.auth.v1.AuthService/CreateProject', { account_id: id, name, idempotency_key: name });
      await system.cli('code', 'create', '1');
      expect((await chat(system, system.firstKey)).status).toBe(200);
      expect((await chat(system, system.firstKey, { model: 'no/such' })).status).toBe(404);
    }
    const { stdout: python } = await run('sh', ['scripts/install/python.sh']);
    const seen = await eventually(async () => {
      const { stdout } = await run(python.trim(), ['tests/grpc/pages.py', JSON.stringify(targets()), id], { maxBuffer: 2 ** 24 });
      const found = JSON.parse(stdout) as Seen;
      return found.walked['ListRefusals']!.items === 2 && found.walked['ListUsageRecords']!.items === 2 ? found : undefined;
    }, 60_000);
    const { walked, tokens, wrong } = seen;
    expect(Object.entries(walked).filter(([, { rest, same }]) => rest !== '' || !same)).toEqual([]);
    const filled = ['Entries', 'Holds', 'Journal', 'Keys', 'OpenHolds', 'Projects', 'RedemptionCodes', 'Refusals', 'UsageRecords'];
    expect(tokens).toEqual(expect.arrayContaining(filled.map((list) => `List${list}`)));
    expect(Object.entries(wrong).filter(([, refused]) => String(refused) !== 'INVALID_ARGUMENT,page_token')).toEqual([]);
  });
});

/** What tests/grpc/pages.py prints. */
interface Seen {
  readonly walked: Readonly<Record<string, { readonly items: number; readonly rest: string; readonly same: boolean }>>;
  /** The lists that have more than one page. */
  readonly tokens: readonly string[];
  /** The code and the field of each refusal; null where there was none. */
  readonly wrong: Readonly<Record<string, readonly string[] | null>>;
}
