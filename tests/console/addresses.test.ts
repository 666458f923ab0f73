// The console works at other addresses: below a path of a proxy, behind a proxy that terminates TLS, and over plain http in a local network.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { expectSoon, newPerson, type Page, type Person, startChromium } from '../support/clients/chromium.js';
import { startSystem, type System } from '../support/systems/system.js';
import { type SampleAccount, createSampleAccount } from './sample-account.js';
import { type ReverseProxy, startReverseProxy } from './reverse-proxy.js';

describe('the console at other addresses', () => {
  let system: System;
  let chromium: Browser;
  let sample: SampleAccount;
  let folder: string;
  const proxies: ReverseProxy[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'));
    system = await startSystem('single', { TOLLGATE_GATEWAY_TRUST_PROXY: 'true' });
    // A name in a private network, which is not a secure context in browsers without TLS.
    [chromium, sample] = await Promise.all([
      startChromium(['--host-resolver-rules=MAP tollgate.lan 127.0.0.1']),
      createSampleAccount(system),
    ]);
  });

  afterAll(async () => {
    await chromium?.close();
    for (const proxy of proxies) await proxy.close();
    await system?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function proxied(options: Omit<Parameters<typeof startReverseProxy>[0], 'target'>): Promise<ReverseProxy> {
    const proxy = await startReverseProxy({ target: system.baseUrl, ...options });
    proxies.push(proxy);
    return proxy;
  }

  async function signIn(person: Person): Promise<Page> {
    const page = await person.open(`/accounts/${sample.accountId}/keys`);
    await page.getByLabel('Email address').fill(sample.owner.email);
    await page.getByLabel('Password').fill(sample.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor();
    return page;
  }

  /** Signs in, reloads a page by its address, makes a change, and opens the public pages. */
  async function walk(address: string): Promise<Person> {
    const person = await newPerson(chromium, address);
    const page = await signIn(person);
    expect(page.url()).toBe(`${address}/console/accounts/${sample.accountId}/keys`);
    await page.reload();
    await page.getByText('production server').first().waitFor();
    await page.goto(`${address}/console/accounts/${sample.accountId}/playground`);
    await page.getByLabel('Model', { exact: true }).selectOption('sandbox/echo');
    await page.getByLabel('Your message').fill('Hello from here');
    await page.keyboard.press('Enter');
    await page.locator('[data-answer=done]').waitFor();
    await page.getByRole('link', { name: 'Models', exact: true }).click();
    await page.locator('a[href$="models/sandbox/echo"]').first().click();
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    await page.waitForURL(`${address}/console/accounts/${sample.accountId}/playground?model=sandbox%2Fecho`);
    await page.goto(`${address}/models`);
    await page.getByRole('link', { name: 'Docs' }).first().click();
    await page.locator('h1').first().waitFor();
    for (const start of ['', '/', '/console']) {
      await page.goto(`${address}${start}`);
      await page.waitForURL(`${address}/console/accounts/${sample.accountId}`);
    }
    expect(person.faults).toEqual([]);
    return person;
  }

  it('works below a path of a proxy', async () => {
    const { port } = await proxied({ path: '/tollgate' });
    await (await walk(`http://127.0.0.1:${port}/tollgate`)).close();
  });

  it('works behind a proxy that terminates TLS, with session cookies restricted to TLS', async () => {
    const files = ['key', 'cert'].map((name) => join(folder, `${name}.pem`));
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '1',
        '-subj',
        '/CN=localhost',
        '-keyout',
        files[0]!,
        '-out',
        files[1]!,
      ],
      { stdio: 'pipe' },
    );
    const [key, cert] = files.map((path) => readFileSync(path, 'utf8')) as [string, string];
    const { port } = await proxied({ tls: { key, cert }, forwardsHeaders: true, rewritesHost: true });
    const person = await walk(`https://127.0.0.1:${port}`);
    expect(await person.context.cookies()).toMatchObject([
      { name: '__Host-tollgate_session', path: '/', httpOnly: true, secure: true, sameSite: 'Lax' },
    ]);
    await person.close();
  });

  it('works behind a proxy that changes the host without forwarding the original one', async () => {
    const { port } = await proxied({ path: '/a/b', rewritesHost: true });
    await (await walk(`http://127.0.0.1:${port}/a/b`)).close();
  });

  it('works over plain http in a local network, including copying', async () => {
    const person = await walk(system.baseUrl.replace('127.0.0.1', 'tollgate.lan'));
    const page = person.context.pages()[0]!;
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    await page.goto('console/');
    await page.goto(`console/accounts/${sample.accountId}/playground`);
    await page.getByLabel('Model', { exact: true }).selectOption('sandbox/echo');
    await page.getByLabel('Your message').fill('Copy me');
    await page.keyboard.press('Enter');
    await page.locator('[data-answer=done]').waitFor();
    await page.getByRole('button', { name: 'Copy as curl' }).click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    await page.getByLabel('Your message').focus();
    await page.keyboard.press('Control+V');
    await expectSoon(async () =>
      expect(await page.getByLabel('Your message').inputValue()).toContain(
        `curl -sN ${system.baseUrl.replace('127.0.0.1', 'tollgate.lan')}/v1/chat/completions`,
      ),
    );
    await person.close();
  });
});
