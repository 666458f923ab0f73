// An internal service that calls Tollgate under its own name: with a certificate that an operator issued, and with third-party clients.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type ChannelCredentials,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { eventually, freePort } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

const loaded = loadPackageDefinition(
  loadSync('tollgate/ledger/v1/ledger.proto', { includeDirs: ['proto'], longs: String, keepCase: true }),
) as unknown as { tollgate: { ledger: { v1: { LedgerService: ServiceClientConstructor } } } };
const python = '.toolchain/python/bin/python';

describe.each(modes)('a caller in %s mode', (mode) => {
  let system: System;
  let folder: string;
  let address: string;
  let accounts: string[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-callers-'));
    const listen = `localhost:${await freePort()}`;
    system = await startSystem(mode, mode === 'single' ? { TOLLGATE_GRPC_LISTEN: listen } : {});
    address = mode === 'single' ? listen : system.operatorEnv()['TOLLGATE_LEDGER_ADDRESS']!;
    await system.cli('account', 'create', 'Second');
    accounts = (await system.cli('account', 'list', '--json'))
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { id: string }).id);
  });

  afterAll(async () => {
    await system?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const read = (file: string): Buffer => readFileSync(join(folder, file));
  const credentialsOf = (name: string): ChannelCredentials =>
    credentials.createSsl(read('ca.crt'), read(`${name}.key`), read(`${name}.crt`));

  /** Returns the balance of an account as the caller reads it, or the error. */
  function balance(accountId: string, as: ChannelCredentials): Promise<string> {
    const client = new loaded.tollgate.ledger.v1.LedgerService(address, as);
    return new Promise<string>((resolve) => {
      const method = client['GetBalance'] as (
        request: object,
        options: object,
        done: (error: ServiceError | null, response: unknown) => void,
      ) => void;
      method.call(client, { account_id: accountId }, { deadline: Date.now() + 10_000 }, (error, response) => {
        resolve(error === null ? JSON.stringify(response) : error.details);
      });
    }).finally(() => client.close());
  }

  /** Waits for this response. Changes take at most a second, and longer on a busy machine. */
  async function soon(read: () => Promise<string>, wanted: string): Promise<void> {
    await eventually(async () => ((await read()).includes(wanted) ? true : undefined));
  }

  it('gets a certificate whose key only its owner can read, and an error that names the grant it lacks', async () => {
    await system.cli('caller', 'add', 'billing-team', '--may', 'metering.read', '--out', folder);
    expect(statSync(join(folder, 'billing-team.key')).mode & 0o777).toBe(0o600);
    const team = credentialsOf('billing-team');
    await soon(
      () => balance(accounts[0]!, team),
      '"billing-team" lacks the grant "ledger.read". An operator can add it: ./tollgate caller update billing-team --may ledger.read',
    );
    await system.cli('caller', 'update', 'billing-team', '--may', 'ledger.read');
    await soon(() => balance(accounts[0]!, team), '"balance":');
    const again = await system.tryCli('caller', 'add', 'billing-team', '--may', 'ledger.read', '--out', folder);
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('billing-team.crt exists already') });
  });

  it('can be limited to accounts', async () => {
    const team = credentialsOf('billing-team');
    await system.cli('caller', 'update', 'billing-team', '--account', accounts[0]!);
    await soon(() => balance(accounts[1]!, team), `"${accounts[1]}" is not one of them`);
    expect(await balance(accounts[0]!, team)).toContain('"balance":');
    expect(await balance('', team)).toContain('the request must name one of them');
    await system.cli('caller', 'update', 'billing-team', '--all-accounts');
    await soon(() => balance(accounts[1]!, team), '"balance":');
  });

  it('reads a balance from Python, and the reason of a refusal', async () => {
    const script = `
import sys, grpc
from google.protobuf import descriptor_pool, message_factory
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from grpc_status import rpc_status
address, account, folder = sys.argv[1:]
read = lambda name: open(f"{folder}/{name}", "rb").read()
channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(read("ca.crt"), read("billing-team.key"), read("billing-team.crt")))
pool = descriptor_pool.DescriptorPool(ProtoReflectionDescriptorDatabase(channel))
def call(name, **fields):
    method = pool.FindServiceByName("tollgate.ledger.v1.LedgerService").FindMethodByName(name)
    request, response = (message_factory.GetMessageClass(each) for each in (method.input_type, method.output_type))
    rpc = channel.unary_unary(f"/tollgate.ledger.v1.LedgerService/{name}", request.SerializeToString, response.FromString)
    return rpc(request(**fields), timeout=20)
print(call("GetBalance", account_id=account).balance.account_id)
try:
    call("Deposit", account_id=account, idempotency_key="a", amount_nano_usd=1)
except grpc.RpcError as error:
    print(error.code().name, error.details())
`;
    const { stdout } = await promisify(execFile)(python, ['-c', script, address, accounts[0]!, folder]);
    const [account, refusal] = stdout.trim().split('\n');
    expect(account).toBe(accounts[0]);
    expect(refusal).toContain('PERMISSION_DENIED "billing-team" lacks the grant "ledger.deposit".');
  });

  it('can use its previous certificate only during the overlap', async () => {
    const former = credentialsOf('billing-team');
    await system.cli('caller', 'rotate', 'billing-team', '--overlap', '1h', '--out', folder);
    const present = credentialsOf('billing-team');
    await soon(() => balance(accounts[0]!, present), '"balance":');
    expect(await balance(accounts[0]!, former)).toContain('"balance":');
    await system.cli('caller', 'rotate', 'billing-team', '--out', folder);
    await soon(() => balance(accounts[0]!, former), 'This certificate of "billing-team" was replaced');
    await soon(() => balance(accounts[0]!, credentialsOf('billing-team')), '"balance":');
  });

  it('is listed with the time when it was last seen, and can be revoked', async () => {
    const seen = await eventually(async () => {
      const shown = JSON.parse(await system.cli('caller', 'show', 'billing-team', '--json')) as { last_seen_at: string | null };
      return shown.last_seen_at ?? undefined;
    });
    expect(Date.now() - Date.parse(seen)).toBeLessThan(120_000);
    await system.cli('caller', 'revoke', 'billing-team');
    await soon(() => balance(accounts[0]!, credentialsOf('billing-team')), '"billing-team" is not a known caller');
    expect(await system.cli('caller', 'list')).toBe('none\n');
    expect(await system.cli('audit', 'list', '--action', 'caller', '--all')).toMatch(/caller\.revoke[^]*caller\.rotate[^]*caller\.create/);
  });

  it('cannot have the name of a process of the installation, or a name that is a path', async () => {
    for (const name of ['gateway', 'operator', '../operator']) {
      expect((await system.tryCli('caller', 'add', name, '--may', 'ledger.read', '--out', folder)).code).not.toBe(0);
    }
    const unknown = await system.tryCli('caller', 'add', 'team', '--may', 'ledger.all', '--out', folder);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('ledger.read') });
  });

  it('of another PKI can be registered by its SPIFFE ID, without a certificate', async () => {
    const caller = await system.json('caller', 'add', 'report', '--may', 'ledger.read', '--identity', 'spiffe://example.com/report');
    expect(caller).toMatchObject({ identity: 'spiffe://example.com/report', certificate_expires_at: null });
    expect(await system.tryCli('caller', 'rotate', 'report', '--out', folder)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('another PKI'),
    });
  });
});
