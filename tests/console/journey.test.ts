// An account owner's journey through the console from sign-in to sign-out, by pointer and by keyboard only. What the pages show equals
// the API and the ledger.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import OpenAI from 'openai';
import type { Browser as Chromium, Download, Locator } from 'playwright-core';
import { usdText } from '../../console/src/format/money.js';
import { chat, settled } from '../support/clients/calls.js';
import { newPerson, startChromium } from '../support/clients/chromium.js';
import { addMember, password } from '../support/clients/console.js';
import { handNames, handsOn } from './hands.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, modes, startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };

describe.each(modes)('an owner’s journey through the console, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let accountId: string;

  beforeAll(async () => {
    system = await startSystem(mode);
    chromium = await startChromium();
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await system.cli('balance', 'deposit', '5', '--account', accountId);
    await addMember(system, accountId, owner.email, 'owner', '--name', 'Olga');
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  async function statusOf(secret: string): Promise<number> {
    const response = await chat(system, secret);
    await response.text();
    return response.status;
  }

  // By keyboard only where the other pages are tested too, because the keyboard reaches the same controls in every mode.
  it.each(browserModes.includes(mode) ? handNames : (['pointer'] as const))('by %s', async (name) => {
    const person = await newPerson(chromium, system.baseUrl);
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const page = await person.open('/sign-in');
    const hands = handsOn(name, page);
    const button = (text: string | RegExp): Locator => page.getByRole('button', { name: text, exact: true });
    const navigation = (text: string): Locator => page.getByRole('navigation').getByRole('link', { name: text, exact: true }).first();
    const heading = (text: string): Promise<void> => page.getByRole('heading', { level: 1, name: text, exact: true }).waitFor();
    const clipboard = (): Promise<string> => page.evaluate(() => navigator.clipboard.readText());

    // Sign in.
    await hands.type(page.getByLabel('Email address'), owner.email);
    await hands.type(page.getByLabel('Password'), owner.password);
    await hands.press(button('Sign in'));
    await page.waitForURL(new RegExp(`/console/accounts/${accountId}$`));

    // Create a key, and keep its secret.
    const keyName = `by ${name}`;
    await hands.press(navigation('API keys'));
    await heading('API keys');
    await hands.press(button('Create key').first());
    await hands.type(page.getByRole('dialog').getByLabel('Name'), keyName);
    await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Create key' }));
    await page.getByTestId('secret').waitFor();
    await hands.press(button('Copy key'));
    await page.getByRole('dialog').getByRole('button', { name: 'Copied' }).waitFor();
    const secret = await clipboard();
    expect(secret).toMatch(/^sk-tg-\w{49}$/);
    await hands.press(button('I have saved it'));
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    // Call a model with a real library while the records are open: the call appears without a reload.
    await hands.press(navigation('Usage records'));
    await heading('Usage records');
    const openai = new OpenAI({ baseURL: `${system.baseUrl}/v1`, apiKey: secret });
    const { response } = await openai.chat.completions
      .create({ model: 'sandbox/echo', messages: [{ role: 'user', content: `Hello by ${name}` }] })
      .withResponse();
    const requestId = response.headers.get('x-request-id')!;
    const charge = response.headers.get('x-tollgate-charge-usd')!;
    const row = page.getByRole('row').filter({ has: page.locator(`a[href*="${requestId}"]`) });
    await row.getByText(usdText(charge)).first().waitFor();

    // Its charge and line items equal those of the API and the ledger.
    await settled(system, accountId);
    const usage = (await (
      await fetch(`${system.baseUrl}/v1/usage/${requestId}`, { headers: { authorization: `Bearer ${secret}` } })
    ).json()) as { charge_usd: string };
    const entries = (await system.cli('balance', 'entries', '--account', accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { reference: string; amount_usd: string });
    expect([usage.charge_usd, entries.find(({ reference }) => reference === requestId)?.amount_usd]).toEqual([charge, charge]);
    await hands.press(row.getByRole('link').first());
    await page.waitForURL(new RegExp(requestId));
    await page.getByRole('dialog').getByText(usdText(charge)).first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await hands.press(navigation('Usage records'));
    await heading('Usage records');

    // Download the records as a file.
    const downloaded = new Promise<Download>((resolve) => page.once('download', resolve));
    await hands.press(page.getByRole('link', { name: 'Export CSV' }));
    const lines = readFileSync(await (await downloaded).path(), 'utf8')
      .trim()
      .split('\r\n')
      .map((line) => line.split(','));
    expect(lines.find((cells) => cells.includes(requestId))?.[lines[0]!.indexOf('charge_usd')]).toBe(charge);

    // Rotate the key: the old secret is refused immediately.
    await hands.press(navigation('API keys'));
    await heading('API keys');
    await hands.press(page.getByRole('link', { name: keyName }));
    await heading(keyName);
    await hands.press(button('Rotate secret'));
    await hands.choose(page.getByRole('radio', { name: 'Immediately' }));
    await hands.press(button('Rotate'));
    await hands.press(button('Copy key'));
    await page.getByRole('dialog').getByRole('button', { name: 'Copied' }).waitFor();
    const rotated = await clipboard();
    expect(rotated).not.toBe(secret);
    await eventually(async () => ((await statusOf(secret)) === 401 ? true : undefined));
    expect(await statusOf(rotated)).toBe(200);
    await hands.press(button('I have saved it'));
    await page.getByRole('dialog').waitFor({ state: 'detached' });

    // Revoke the key.
    await hands.press(button('Revoke'));
    await hands.type(page.getByLabel(`Type ${keyName} to confirm`), keyName);
    await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Revoke' }));
    await page.getByText('Revoked', { exact: true }).first().waitFor();
    await eventually(async () => ((await statusOf(rotated)) === 401 ? true : undefined));

    // Sign out, which also invalidates a copied session cookie.
    const cookies = await person.context.cookies();
    await hands.press(button('Settings'));
    await hands.press(page.getByRole('dialog').getByRole('button', { name: 'Sign out' }));
    await page.waitForURL(/\/console\/sign-in/);
    const me = await fetch(`${system.baseUrl}/console/api/me`, {
      headers: { cookie: cookies.map((each) => `${each.name}=${each.value}`).join('; ') },
    });
    expect(me.status).toBe(401);
    expect(person.faults).toEqual([]);
    await person.close();
  });
});
