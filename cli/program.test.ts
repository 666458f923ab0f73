import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Command } from 'commander';
import type { AppError } from '#client/errors/app-error.js';
import { fault, fieldFault } from '#client/errors/fault.js';
import { explain } from './errors.js';
import { type FakeGateway, startFakeGateway } from './testing/fake-gateway.js';
import { tollgate, tollgateJson } from './testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('faults', () => {
  it('are one line and the fix, without a stack trace', async () => {
    expect(await tollgate(gateway, ['account', 'list'], { env: { TOLLGATE_DATA_DIR: './nowhere' } })).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: Tollgate is not running for ./nowhere; start it with `make run`.\n' +
        'For another data folder, set TOLLGATE_DATA_DIR; for a distributed gateway, set TOLLGATE_AUTH_ADDRESS and the addresses of the other services.\n',
    });
    expect(await tollgate(gateway, ['account', 'show', 'acct_9'])).toEqual({
      code: 1,
      stdout: '',
      stderr: 'error: There is no account acct_9.\n',
    });
  });

  it.each([
    [['balance', 'deposit', '1,50'], 'Specify an amount in USD such as 5 or 0.25'],
    [['balance', 'deposit', '-5'], 'above zero'],
    [['balance', 'deposit', '2000000000'], 'at most 1,000,000,000 USD'],
    [['model', 'put', '/'], 'error: / is a folder; specify a file.'],
    [['key', 'create'], "required option '--name <name>' not specified"],
    [['key', 'create', '--name', 'x', '--expires', 'soon'], 'Specify a date or time'],
    [['model', 'pause', 'acme/one', '--until', 'soon'], 'Specify a date or time'],
    [['kye', 'list'], '(Did you mean key?)'],
    [['usage', 'list', '--outcome', 'complete'], 'Did you mean completed?'],
    [['caller', 'add', 'billing', '--may', 'ledger.reed'], 'Did you mean ledger.read?'],
    [['webhook', 'create', 'https://example.com', '--event', 'funds.added', 'key.refuse'], 'Did you mean key.refused?'],
    [['webhook', 'rotate', 'whe_1', '--overlap', '8d'], 'It must be at most 7d.'],
    [['webhook', 'update', 'whe_1', '--enable', '--disable'], "option '--enable' cannot be used with option '--disable'"],
    [['webhook', 'test', 'whe_1', 'refused'], 'It must be one of balance.low, budget.reached,'],
  ])('in usage exit with code 2: %p', async (args, message) => {
    const result = await tollgate(gateway, args);
    expect(result.code).toBe(2);
    expect(result.stderr).toContain(message);
    expect(result.stderr).not.toContain('    at ');
  });

  it('of the configuration name every missing address', async () => {
    const { code, stderr } = await tollgate(gateway, ['account', 'list'], { env: { TOLLGATE_LEDGER_ADDRESS: '127.0.0.1:1' } });
    expect(code).toBe(2);
    for (const name of ['AUTH', 'CATALOG', 'METERING', 'INFERENCE']) expect(stderr).toContain(`TOLLGATE_${name}_ADDRESS is required`);
  });

  it.each(['BACKUP', 'RESTORE'])('of the configuration name TOLLGATE_%s_DATABASE_URL without quoting it', async (name) => {
    const env = { ...gateway.env, [`TOLLGATE_${name}_DATABASE_URL`]: 'mysql:/root:secret@db' };
    const { code, stderr } = await tollgate(gateway, ['account', 'list'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain(`TOLLGATE_${name}_DATABASE_URL is not valid: A MySQL address is mysql://user:password@host:port/`);
    expect(stderr).not.toContain('secret');
  });

  it.each([
    ['ENOSPC', 'A disk is full: why.', 'Free up space on it'],
    ['SQLITE_FULL', 'A disk is full: why.', 'Free up space on it'],
    ['SQLITE_CANTOPEN', 'A database cannot be used: why.', 'not read-only'],
  ])('of disks and databases are not reported as bugs: %s', (code, fault, fix) => {
    expect(explain(Object.assign(new Error('why'), { code }))).toEqual({
      lines: [`error: ${fault}`, expect.stringContaining(fix)],
      exitCode: 1,
    });
  });

  it.each([
    [{ code: 'ECONNREFUSED', syscall: 'connect' }, 'TOLLGATE_BACKUP_DATABASE_URL'],
    [{ errno: 1045 }, 'TOLLGATE_BACKUP_DATABASE_URL'],
    [{ name: 'KnexTimeoutError' }, 'neither hung nor overloaded'],
  ])('of a database that cannot be used say what to check: %p', (fields, fix) => {
    expect(explain(Object.assign(new Error('why'), fields)).lines).toEqual([
      'error: The database cannot be used: why.',
      expect.stringContaining(fix),
    ]);
  });

  it('of a service name the option or the argument, not the field of the request', () => {
    const command = new Command('x')
      .argument('<credential>')
      .argument('[id]')
      .option('--from <when>')
      .option('--base-url <url>')
      .option('--for <time>');
    const said = (error: AppError): string => explain(error, command).lines[0]!;
    expect(said(fieldFault('price.effective_from_ms', 'future_start'))).toBe(
      'error: --from must be in the future; leave it out for a price that takes effect when it is published.',
    );
    expect(explain(fieldFault('upstream.base_url', 'private_address', { address: '10.0.0.1' }), command).lines).toEqual([
      'error: --base-url resolves to the private address 10.0.0.1; allow private addresses to use it.',
      'Add --allow-private-network if the upstream is in your own network.',
    ]);
    expect(said(fieldFault('eject_for_ms', 'range', { min: 1000, max: 86_400_000 }))).toBe('error: --for must be from 1s to 24h.');
    expect(said(fieldFault('credential_id', 'required'))).toBe('error: <credential> is required.');
    expect(said(fieldFault('upstream.id', 'required'))).toBe('error: <id> is required.');
    expect(said(fieldFault('month', 'required'))).toBe('error: month is required.');
    expect(explain(fieldFault('url', 'public_address')).lines[1]).toContain('TOLLGATE_AUTH_PRIVATE_WEBHOOKS=true');
    expect(explain(fault('no_member', {})).lines[1]).toContain('tollgate member put <email>');
  });

  it('of a service that rejects an argument are incorrect usage', () => {
    expect(explain(fieldFault('month', 'required')).exitCode).toBe(2);
    expect(explain(fault('no_member', {})).exitCode).toBe(1);
  });

  it('do not include help and version', async () => {
    expect(await tollgate(gateway, ['--version'])).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
    const help = await tollgate(gateway, ['key', 'create', '--help']);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toMatch(/--limit <usd>.*--json/s);
  });
});

it('has help for every command', async () => {
  const commands = [['--help']];
  for (const words of commands) {
    const { code, stdout } = await tollgate(gateway, words);
    expect({ words, code }).toEqual({ words, code: 0 });
    const [, list = ''] = stdout.split('\nCommands:\n');
    for (const [, name] of list.matchAll(/^ {2}([a-z-]+)/gm)) if (name !== 'help') commands.push([...words.slice(0, -1), name!, '--help']);
  }
  expect(commands).toContainEqual(['key', 'rotate', '--help']);
});

it('shows its settings and where they come from', async () => {
  const settings = await tollgateJson(gateway, ['config'], { env: { TOLLGATE_DATA_DIR: '/srv/tollgate' } });
  expect(settings).toContainEqual(
    expect.objectContaining({ name: 'TOLLGATE_DATA_DIR', value: '/srv/tollgate', origin: 'environment', default: './data' }),
  );
});
