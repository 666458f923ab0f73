// The programs of docs/grpc.md, run unchanged by a caller that an operator has added.
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, freePort } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

const run = promisify(execFile);
const page = readFileSync('docs/grpc.md', 'utf8');

/** Returns the code block of the page that is marked for this test. */
function block(name: string): string {
  const found = new RegExp(`\`\`\`\\w+ test=${name}\\n([^]*?)\`\`\``).exec(page);
  expect(found).not.toBeNull();
  return found![1]!;
}

describe('the page for internal callers', () => {
  let system: System;
  let folder: string;
  let env: Record<string, string>;

  beforeAll(async () => {
    const address = `127.0.0.1:${await freePort()}`;
    system = await startSystem('single', { TOLLGATE_GRPC_LISTEN: address });
    folder = mkdtempSync(join(tmpdir(), 'tollgate-docs-'));
    const [, command] = /\n\.\/tollgate (caller add [^\n]+)\n/.exec(page)!;
    await system.cli(...command!.replace('--out certs', '').trim().split(/ +/), '--out', join(folder, 'certs'));
    const account = await system.json<{ id: string }>('account', 'list');
    env = { ...process.env, ADDRESS: address, ACCOUNT: account.id } as Record<string, string>;
  });

  afterAll(async () => {
    await system?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  it('reads a balance with grpcurl', async () => {
    const path = `${resolve('.toolchain/bin')}:${process.env['PATH']}`;
    const { stdout } = await run('sh', ['-c', block('grpcurl')], { cwd: folder, env: { ...env, PATH: path } });
    expect(JSON.parse(stdout)).toMatchObject({ balance: { accountId: env['ACCOUNT'] } });
  });

  it('reads a balance and creates a key with Node', async () => {
    const { stdout: packed } = await run(process.execPath, ['scripts/client-pack.js', folder]);
    writeFileSync(join(folder, 'package.json'), '{ "private": true, "type": "module" }');
    await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${packed.trim()}`], { cwd: folder });
    writeFileSync(join(folder, 'program.js'), block('node'));
    const { stdout } = await run(process.execPath, ['program.js'], { cwd: folder, env });
    expect(stdout).toMatch(/^available \d+n\nkey key_[0-9a-f]{32} 55\n$/);
  });

  it('charges for a product by its own units with Python, and reads its record with grpcurl', async () => {
    const [, model] = /```json product\n([^]*?)```/.exec(page)!;
    writeFileSync(join(folder, 'images.json'), model!);
    const [, commands] = /```sh product\n([^]*?)```/.exec(page)!;
    for (const command of commands!.trim().split('\n'))
      await system.cli(...command.replace('./tollgate ', '').replace('images.json', join(folder, 'images.json')).split(' '));
    await system.cli('account', 'update', env['ACCOUNT']!, '--budget', 'month:5');
    const [, shown] = /```text\n([^]*?)```/.exec(page)!;
    const { stdout: python } = await run('sh', ['scripts/install/python.sh']);
    writeFileSync(join(folder, 'product.py'), block('product'));
    expect((await run(python.trim(), ['product.py'], { cwd: folder, env })).stdout).toBe(shown);
    const record = await eventually(async () => {
      const row = await system.json<{ id: string; settled_at: string | null }>('usage', 'list', '--model', 'acme/images');
      return row.settled_at === null ? undefined : row;
    });
    expect(record).toMatchObject({ format: 'image-studio', captured_nano_usd: '121000000' });
    expect(await system.json('account', 'show', env['ACCOUNT']!)).toMatchObject({ budgets: [{ spent_usd: '0.121' }] });
    const path = `${resolve('.toolchain/bin')}:${process.env['PATH']}`;
    const { stdout } = await run('sh', ['-c', block('record')], { cwd: folder, env: { ...env, PATH: path, CALL: record.id } });
    expect(JSON.parse(stdout)).toMatchObject({ record: { call: { product: 'image-studio' }, chargeNanoUsd: '121000000' } });
    expect(await system.json('balance', 'verify')).toMatchObject({ ok: true });

    const unheld = block('product').replace(/\ncall\(\n    "Ledger", "Hold"[^]*?\n\)\n/, '\n');
    writeFileSync(join(folder, 'unheld.py'), unheld);
    await expect(run(python.trim(), ['unheld.py'], { cwd: folder, env })).rejects.toThrow(/NOT_FOUND[^]*has no hold/);
  });

  it('reads a balance and an error with Python', async () => {
    const { stdout: python } = await run('sh', ['scripts/install/python.sh']);
    writeFileSync(join(folder, 'program.py'), block('python'));
    const { stdout } = await run(python.trim(), ['program.py'], { cwd: folder, env });
    expect(stdout).toMatch(/^available \d+\nrefused INVALID_REQUEST \{.*'field': 'account_id'.*\}\n$/);
  });
});
