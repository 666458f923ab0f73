// The packed client, used as by a service outside this repository: installed from the tarball, compiled against its types, and run.
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { modes, startSystem, type System } from '../support/systems/system.js';

const run = promisify(execFile);

// Charges an account for a product of the internal service, repeats the request, and reads an error.
const program = `
import { callOptions, connect, readTls, TollgateError } from '@tollgate/client';
import { DepositSource, HoldState, type Balance } from '@tollgate/client/ledger';

const [address, ca, cert, key] = JSON.parse(process.argv[2]!);
const tollgate = connect({ address, caller: 'operator', batch: true, ...(ca === undefined ? {} : { tls: readTls({ ca, cert, key }) }) });
const { auth, ledger } = tollgate;

const { account } = await auth.createAccount({ name: 'Packed' });
const accountId = account!.id;
const { key: made } = await auth.createKey(
  { accountId, name: 'k', idempotencyKey: 'k1' },
  callOptions({ timeoutMs: 5000 }),
);
const deposit = { idempotencyKey: 'd1', accountId, amountNanoUsd: 1_000_000_000n, source: DepositSource.DEPOSIT_SOURCE_CASH, reason: 'test' };
await ledger.deposit(deposit);
const { replayed } = await ledger.deposit(deposit);

const holdId = 'req_' + Date.now().toString(16).padStart(12, '0') + '7' + '0'.repeat(3) + '8' + '0'.repeat(15);
const amountNanoUsd = 400_000_000n;
const { hold } = await ledger.hold({
  holdId, accountId, keyId: made!.id, keyLimit: { version: made!.version },
  amountNanoUsd, minAmountNanoUsd: amountNanoUsd, ttlMs: 60_000,
});
const settled = await ledger.settle({ holdId, accountId, costNanoUsd: 250_000_000n, keyId: made!.id });
const balance: Balance = (await ledger.getBalance({ accountId })).balance!;

let refused: unknown;
try {
  await ledger.hold({
    holdId: holdId.slice(0, -1) + '1', accountId, keyId: made!.id, keyLimit: { version: made!.version },
    amountNanoUsd: 10n ** 15n, minAmountNanoUsd: 10n ** 15n, ttlMs: 60_000,
  });
} catch (error) {
  if (error instanceof TollgateError) refused = { reason: error.reason, code: error.code };
}
const late = await ledger.getBalance({ accountId }, callOptions({ signal: AbortSignal.abort() })).catch((error: TollgateError) => error.reason);
console.log(JSON.stringify({
  replayed, held: hold!.state === HoldState.HOLD_STATE_OPEN, captured: String(settled.hold!.capturedNanoUsd),
  available: String(balance.availableNanoUsd), refused, late,
}));
tollgate.close();
`;

describe('the client package', () => {
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-client-'));
    const { stdout } = await run(process.execPath, ['scripts/client-pack.js', folder]);
    writeFileSync(join(folder, 'package.json'), '{ "name": "consumer", "private": true, "type": "module" }');
    const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--ignore-scripts', `./${stdout.trim()}`];
    await run('npm', install, { cwd: folder });
    writeFileSync(join(folder, 'program.ts'), program);
    // The compiler and the types of Node are the consumer's own; here they are those of this repository.
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    for (const name of ['@types/node', 'undici-types']) {
      rmSync(join(folder, 'node_modules', name), { recursive: true, force: true });
      symlinkSync(resolve('node_modules', name), join(folder, 'node_modules', name));
    }
    const options = ['--strict', '--module', 'nodenext', '--target', 'es2023', '--types', 'node', '--noEmit', 'false'];
    await run(resolve('node_modules/.bin/tsc'), [...options, 'program.ts'], { cwd: folder }).catch((error: { stdout: string }) => {
      throw new Error(error.stdout);
    });
  }, 120_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('depends only on gRPC and protobuf, and contains the .proto files', () => {
    const installed = readdirSync(join(folder, 'node_modules/@tollgate/client'));
    expect(installed).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'dist', 'proto']));
    expect(readdirSync(join(folder, 'node_modules/@tollgate/client/proto/tollgate/ledger/v1'))).toContain('ledger.proto');
    expect(readdirSync(join(folder, 'node_modules'))).not.toContain('@opentelemetry');
  });

  describe.each(modes)('against an installation in %s mode', (mode) => {
    let system: System;
    beforeAll(async () => {
      system = await startSystem(mode);
    });
    afterAll(() => system?.stop());

    it('moves money exactly once, and reports why it was refused', async () => {
      const env = system.operatorEnv();
      const target =
        mode === 'single'
          ? [`unix:${join(system.dataDir, 'tollgate.sock')}`]
          : [
              { auth: env['TOLLGATE_AUTH_ADDRESS'], ledger: env['TOLLGATE_LEDGER_ADDRESS'] },
              env['TOLLGATE_TLS_CA'],
              env['TOLLGATE_TLS_CERT'],
              env['TOLLGATE_TLS_KEY'],
            ];
      const { stdout } = await run(process.execPath, ['program.js', JSON.stringify(target)], { cwd: folder });
      expect(JSON.parse(stdout)).toEqual({
        replayed: true,
        held: true,
        captured: '250000000',
        available: '750000000',
        refused: { reason: 'balance_empty', code: 9 },
        late: 'cancelled',
      });
    });
  });
});
