// What the operator sees at the first start, and what later starts keep.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { createServer } from 'node:net';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen } from '#kit/testing/local-server.js';
import { chat, usageRows } from '../support/clients/calls.js';
import { Browser } from '../support/clients/console.js';
import { cleanEnv, root, startScript } from '../support/systems/process.js';
import { modes, startSystem, startSystemOn, type System } from '../support/systems/system.js';

describe.each(modes)('the first start, %s', (mode) => {
  let system: System;
  let folder: string;
  let printed: string;
  let address: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate with spaces-'));
    // On all addresses, which no browser finds: what is printed must be one of this machine.
    system = await startSystem(mode, { TOLLGATE_GATEWAY_HOST: '0.0.0.0' }, folder);
    printed = system.output();
    address = system.baseUrl.replace('0.0.0.0', '127.0.0.1');
  });

  afterAll(async () => {
    await system?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('prints the address and the balance, but not the key', () => {
    expect(printed).toContain(`at ${address}\n`);
    expect(printed).toContain('$5');
    expect(printed).not.toContain(system.firstKey);
    expect(system.firstKey).toMatch(/^sk-tg-[0-9A-Za-z]{49}$/);
    expect(statSync(join(system.dataDir, 'first-key')).mode & 0o777).toBe(0o600);
  });

  it('creates a link that signs the operator in once, and does not print it', async () => {
    const path = join(system.dataDir, 'first-console-link');
    const link = readFileSync(path, 'utf8').trim();
    const [page, token] = link.split('#');
    expect([page, token]).toEqual([`${address}/console/link`, expect.stringMatching(/^[\w-]{43}$/)]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(printed).toContain(`open the link in ${path}`);
    expect(printed).not.toContain(token);
    const browser = new Browser(system);
    await browser.must('POST', '/session/link', { token }, 204);
    expect(await browser.get('/me')).toMatchObject({
      user: { email: 'operator@localhost', is_operator: true, has_password: false },
      accounts: [{ name: 'default', role: 'owner' }],
    });
    expect(await new Browser(system).refusal('POST', '/session/link', { token })).toEqual([401, 'sign_in_refused']);
  });

  it('creates another link for the operator on request', async () => {
    const { url, email } = await system.json<{ url: string; email: string }>('console', 'link');
    expect([email, url]).toEqual(['operator@localhost', expect.stringMatching(`^${address}/console/link#[\\w-]{43}$`)]);
    await new Browser(system).must('POST', '/session/link', { token: url.split('#')[1] }, 204);
    // The command as printed, in a shell without the settings of this installation.
    const printedCommand = /create another: (.* console link)\)/.exec(printed)![1]!;
    expect(execFileSync('sh', ['-c', printedCommand], { encoding: 'utf8', cwd: root, env: cleanEnv({}) })).toContain(
      `${address}/console/link#`,
    );
    await system.cli('user', 'add', 'second@example.com', '--operator');
    const { code, stderr } = await system.tryCli('console', 'link');
    expect([code, stderr]).toEqual([1, expect.stringContaining('operator@localhost, second@example.com')]);
    expect(await system.json('user', 'email', 'second@example.com', 'third@example.com')).toMatchObject({
      email: 'third@example.com',
      operator: true,
    });
    expect(await system.json('console', 'link', 'third@example.com')).toMatchObject({ email: 'third@example.com' });
  });

  it('makes every file and folder inaccessible to other users, although they can list the data folder', () => {
    const open = readdirSync(system.dataDir).filter((name) => (statSync(join(system.dataDir, name)).mode & 0o077) !== 0);
    expect(open).toEqual([]);
  });

  it('prints a working curl command for each format', () => {
    const curls = printed.split('\n').filter((line) => line.startsWith('curl '));
    expect(curls).toHaveLength(3);
    const [chatAnswer, message, response] = curls.map((line) => JSON.parse(execFileSync('sh', ['-c', line], { encoding: 'utf8' })));
    expect(chatAnswer.choices[0].message.content).toBe('Hello');
    expect(message.content[0].text).toBe('Hello');
    expect(response.output[0].content[0].text).toBe('Hello');
  });

  it('keeps everything across a restart, and prints no key', async () => {
    await chat(system, system.firstKey);
    const before = await usageRows(system);
    await system.kill();
    await system.start();
    expect(system.output()).not.toContain('platform key');
    expect(system.output()).not.toContain(system.firstKey);
    expect(system.output()).not.toContain('#');
    expect(system.output()).toContain('console link');
    expect((await usageRows(system)).map((row) => row.id)).toEqual(expect.arrayContaining(before.map((row) => row.id)));
    expect((await chat(system, system.firstKey)).status).toBe(200);
    const accounts = (await system.cli('account', 'list', '--json')).trim().split('\n');
    expect(accounts).toHaveLength(1);
  });

  it('passes all checks of tollgate doctor, with its private servers running', async () => {
    expect(system.output()).not.toContain('exited unexpectedly');
    const { code, stdout } = await system.tryCli('doctor');
    expect(stdout).not.toBe('');
    expect(code).toBe(0);
  });
});

it.each(modes)('The gateway uses the address, the public address and the spool that are set, %s.', async (mode) => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
  const spool = join(folder, 'elsewhere');
  const system = await startSystem(
    mode,
    {
      TOLLGATE_GATEWAY_HOST: '127.0.0.2',
      TOLLGATE_GATEWAY_PUBLIC_URL: 'https://ai.example.com/tollgate/',
      TOLLGATE_GATEWAY_SPOOL_DIR: spool,
    },
    folder,
  );
  expect(system.output()).toContain(`at ${system.baseUrl}\n`);
  const link = /^https:\/\/ai\.example\.com\/tollgate\/console\/link#/;
  expect(readFileSync(join(system.dataDir, 'first-console-link'), 'utf8')).toMatch(link);
  // With the settings of the data folder only.
  const [command, env] = [join(root, 'tollgate'), cleanEnv({ TOLLGATE_DATA_DIR: system.dataDir })];
  expect(JSON.parse(execFileSync(command, ['console', 'link', '--json'], { env, encoding: 'utf8' }))).toMatchObject({
    url: expect.stringMatching(link),
  });
  expect(execFileSync(command, ['config', '--json'], { env, encoding: 'utf8' })).toContain(`"value":"${spool}"`);
  expect(readdirSync(spool)).not.toEqual([]);
  await system.kill();
  await system.start();
  expect(system.output()).toContain('console           https://ai.example.com/tollgate/console; ');
  await system.stop();
  rmSync(folder, { recursive: true });
});

describe('a first start on a port that is in use', () => {
  let dataDir: string;
  let port: number;
  let failed: { code: number | null; stdout: string; stderr: string };

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
    const other = createServer();
    port = await listen(other);
    const child = startScript('dist/deploy/single/main.js', [], { PORT: String(port), TOLLGATE_DATA_DIR: dataDir });
    const code = await new Promise<number | null>((resolve) => child.process.once('close', resolve));
    failed = { code, stdout: child.stdout(), stderr: child.stderr() };
    await new Promise((resolve) => other.close(resolve));
  });

  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  it('reports the port in one line, and in the log without the error of the system', () => {
    const message = `Port ${port} of 127.0.0.1 is in use by another process; set PORT to another one.`;
    expect(failed.code).toBe(1);
    expect(failed.stderr).toBe(`Could not start: ${message}\n`);
    expect(JSON.parse(failed.stdout.trim().split('\n').at(-1)!)).toMatchObject({ err: { message } });
  });

  it('creates nothing, so that the next start is the first', async () => {
    expect(readdirSync(dataDir).filter((name) => name.startsWith('first-'))).toEqual([]);
    const system = await startSystemOn(dataDir, 'single');
    expect(system.output()).toContain(`open the link in ${join(dataDir, 'first-console-link')}`);
    expect(system.output()).toContain('curl ');
    expect((await chat(system, system.firstKey)).status).toBe(200);
    expect((await system.cli('key', 'list', '--json')).trim().split('\n')).toHaveLength(1);
    await system.stop();
  });
});

describe('a start with invalid settings', () => {
  const end = async (env: Record<string, string>): Promise<{ code: number | null; text: string; stderr: string }> => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
    const child = startScript('dist/deploy/single/main.js', [], { PORT: '0', TOLLGATE_DATA_DIR: dataDir, ...env });
    const code = await new Promise<number | null>((resolve) => child.process.once('close', resolve));
    rmSync(dataDir, { recursive: true, force: true });
    return { code, text: child.stdout() + child.stderr(), stderr: child.stderr() };
  };

  it('suggests the nearest known setting for an unknown one', async () => {
    const { code, text } = await end({ TOLLGATE_GATEWAY_HOLDTTL: '1m' });
    expect(code).toBe(1);
    expect(text).toContain('did you mean TOLLGATE_GATEWAY_HOLD_TTL?');
  });

  it('reports all invalid settings at once, and nothing else', async () => {
    const invalid = {
      PORT: 'http',
      TOLLGATE_METERING_LEASE: 'long',
      TOLLGATE_OPERATOR_EMAIL: 'foo',
      TOLLGATE_LOST_SECRET_KEY: 'zz',
      TOLLGATE_GRPC_LISTEN: 'x',
      TOLLGATE_SINGLE_METRICS_LISTEN: '80',
      TOLLGATE_GATEWAY_REDIS_URL: 'http://x',
      TOLLGATE_LEDGER_STRIPE_API_BASE: 'nope',
      OPENAI_BASE_URL: 'nope',
      ANTHROPIC_BASE_URL: 'ftp://nope',
      TOLLGATE_SMTP_URL: 'foo',
      TOLLGATE_SMTP_FROM: 'foo',
      TOLLGATE_SMTP_CA: '/nowhere',
    };
    const { code, text } = await end(invalid);
    expect(code).toBe(1);
    const [title, ...lines] = text.trim().split('\n');
    expect(title).toBe(`The configuration has ${Object.keys(invalid).length} faults:`);
    expect(lines.map((line) => /^ {2}- (\w+) /.exec(line)?.[1]).toSorted()).toEqual(Object.keys(invalid).toSorted());
  });

  it('reports settings that contradict each other in the same way', async () => {
    const { code, text } = await end({
      TOLLGATE_SMTP_URL: 'foo',
      TOLLGATE_LEDGER_STRIPE_SECRET_KEY: 'sk_1',
      TOLLGATE_LEDGER_PAYMENT_MAX_USD: '1',
      TOLLGATE_AUTH_OIDC_CLIENT_ID: 'tollgate',
      TOLLGATE_GATEWAY_HOLD_TTL: '1s',
      TOLLGATE_METERING_HOLD_TTL: '1s',
      TOLLGATE_METERING_LEASE: '1s',
      TOLLGATE_GRPC_HOSTS: 'tollgate.example.com',
      TOLLGATE_TLS_CA: 'ca.pem',
    });
    expect(code).toBe(1);
    expect(text.trim().split('\n')).toEqual([
      'The configuration has 10 faults:',
      expect.stringContaining('TOLLGATE_SMTP_URL must have the form'),
      expect.stringContaining('TOLLGATE_SMTP_FROM is required'),
      expect.stringContaining('TOLLGATE_AUTH_OIDC_ISSUER and'),
      expect.stringContaining('TOLLGATE_LEDGER_STRIPE_WEBHOOK_SECRET must be set together'),
      expect.stringContaining('TOLLGATE_LEDGER_PAYMENT_MIN_USD must not be above'),
      expect.stringContaining('TOLLGATE_GATEWAY_CHECKPOINT_INTERVAL must be shorter'),
      expect.stringContaining('TOLLGATE_METERING_HOLD_TTL must be longer'),
      expect.stringContaining('TOLLGATE_METERING_LEASE must be longer'),
      expect.stringContaining('TOLLGATE_GRPC_HOSTS has no effect without TOLLGATE_GRPC_LISTEN'),
      expect.stringContaining('TOLLGATE_TLS_CA'),
    ]);
  });

  it('refuses the data folder of another mode, which it would otherwise serve without any account', async () => {
    const other = mkdtempSync(join(tmpdir(), 'tollgate-e2e-'));
    mkdirSync(join(other, 'mariadb'));
    const { code, stderr } = await end({ TOLLGATE_DATA_DIR: other });
    expect([code, stderr]).toEqual([1, expect.stringContaining('Start it with `make run-distributed`')]);
    expect(readdirSync(other)).not.toContain('books.db');
    rmSync(other, { recursive: true });
  });

  // 192.0.2.1 is an address for documentation, which no machine has.
  it.each([
    ['TOLLGATE_DATA_DIR', join(root, 'package.json')],
    ['TOLLGATE_GATEWAY_SPOOL_DIR', join(root, 'package.json', 'spool')],
    ['TOLLGATE_LEDGER_ARCHIVE_DIR', join(root, 'package.json')],
    ['TOLLGATE_METERING_ARCHIVE_DIR', join(root, 'package.json')],
    ['TOLLGATE_GATEWAY_HOST', '192.0.2.1'],
    ['TOLLGATE_GRPC_LISTEN', '192.0.2.1:7443'],
    ['TOLLGATE_SINGLE_METRICS_LISTEN', '192.0.2.1:9464'],
  ])('names the setting of a folder or an address that cannot be used: %s', async (name, value) => {
    const { code, stderr } = await end({ [name]: value });
    expect(code).toBe(1);
    expect(stderr).toContain(name);
    expect(stderr).toContain(value);
  });
});
