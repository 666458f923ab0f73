// An operator's catalog in the browser: a price from draft to charge, a new model up to its first call, and upstream tests that are kept.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Browser as Chromium } from 'playwright-core';
import { chat, get } from '../support/clients/calls.js';
import { addUser, password } from '../support/clients/console.js';
import { accessibilityFaults, expectSoon, newMember, type Person, popup, settledPage, startChromium } from '../support/clients/chromium.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';
import { startStubUpstream, stubApiKey, type StubUpstream } from '../upstream/stub-upstream.js';

const who = { email: 'operator@example.com', password };

describe.each(browserModes)('an operator’s catalog in the browser, %s', (mode) => {
  let system: System;
  let stub: StubUpstream;
  let chromium: Chromium;
  let operator: Person;

  beforeAll(async () => {
    stub = await startStubUpstream();
    [system, chromium] = await Promise.all([
      startSystem(mode, { ANTHROPIC_API_KEY: 'sk-ant-environment-wxyz', ANTHROPIC_BASE_URL: stub.baseUrl }),
      startChromium(),
    ]);
    await addUser(system, who.email, who.password, '--operator');
    operator = await newMember(chromium, system, who);
  });

  afterAll(async () => {
    await operator?.close();
    await chromium?.close();
    await system?.stop();
    await stub?.stop();
  });

  it('publishes a price draft after showing what it changes, and charges a call with it', async () => {
    const page = await operator.open('/operator/models');
    await page.getByLabel('Search').fill('sandbox/story');
    await expectSoon(async () => expect(await page.getByRole('row').count()).toBe(2));
    expect(page.url()).toContain('q=sandbox');
    await page.getByRole('link', { name: 'Sandbox Story' }).or(page.getByRole('rowheader').getByRole('link')).first().click();
    await page.getByRole('button', { name: 'Change price' }).click();
    const form = popup(page);
    await form.getByLabel('Input').fill('-1');
    await form.getByLabel('Output').fill('4.25');
    await form.getByRole('button', { name: 'Save draft' }).click();
    // The API's message is shown at the field.
    await form.locator('[aria-invalid=true]').waitFor();
    await expectSoon(async () => expect(await form.locator('[aria-invalid=true]').inputValue()).toBe('-1'));
    await form.getByLabel('Input').fill('0.750000001');
    await form.getByRole('button', { name: 'Add a unit' }).click();
    await form.getByLabel('Unit', { exact: true }).fill('Request');
    await form.getByLabel('USD per unit').fill('0.002');
    await form.getByRole('button', { name: 'Save draft' }).click();
    await form.locator('[aria-invalid=true]').waitFor();
    await expectSoon(async () => expect(await form.locator('[aria-invalid=true]').inputValue()).toBe('Request'));
    await form.getByLabel('Unit', { exact: true }).fill('request');
    await form.getByRole('button', { name: 'Save draft' }).click();
    await form.waitFor({ state: 'detached' });

    const changes = page.getByRole('table', { name: 'Price changes' });
    await changes.waitFor();
    await expectSoon(async () =>
      expect(await changes.getByRole('row', { name: /^Output/ }).innerText()).toMatch(/\$0\.40\s+\$4\.25\s+↑ \+962\.5%/),
    );
    await page.getByText('Output changes by more than half.').waitFor();
    const calls = page.getByRole('table', { name: 'Cost of typical calls' });
    await expectSoon(async () => expect(await calls.getByRole('row').nth(1).innerText()).toContain('$0.004025001'));
    // The draft is not in effect yet.
    expect(await (await fetch(`${system.baseUrl}/v1/catalog`)).text()).not.toContain('"4.25"');

    await page.getByRole('button', { name: 'Publish…' }).click();
    await popup(page).getByText('cannot be changed or withdrawn').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await popup(page).getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByText('Price published').waitFor();
    await page.getByRole('button', { name: 'Change price' }).waitFor();
    const history = page.getByRole('table', { name: 'All prices' });
    await history
      .getByRole('row')
      .nth(1)
      .filter({ hasText: /In force.*\$0\.750000001.*\$4\.25/s })
      .waitFor();
    await expectSoon(async () => expect(await history.getByRole('row').nth(2).innerText()).toContain('Past'));

    await eventually(async () => ((await (await fetch(`${system.baseUrl}/v1/catalog`)).text()).includes('4.25') ? true : undefined));
    await page.getByRole('link', { name: 'Public page' }).click();
    await page.getByText('$0.750000001').first().waitFor();
    const answer = await chat(system, system.firstKey, { model: 'sandbox/story', max_tokens: 12 });
    const { usage } = (await answer.json()) as { usage: { prompt_tokens: number; completion_tokens: number } };
    const nano =
      (BigInt(usage.prompt_tokens) * 750_000_001n + 999_999n) / 1_000_000n + BigInt(usage.completion_tokens) * 4250n + 2_000_000n;
    const { charge_usd } = (await (await get(system, `/v1/usage/${answer.headers.get('x-request-id')}`, system.firstKey)).json()) as {
      charge_usd: string;
    };
    expect(BigInt(Math.round(Number(charge_usd) * 1e9))).toBe(nano);
    expect(operator.faults).toEqual([]);
    await page.close();
  });

  it('shows what is typed in the search before it renders the table again', async () => {
    const page = await operator.open('/operator/models');
    const rows = page.locator('main tbody tr');
    await rows.first().waitFor();
    const all = await rows.count();
    const then = await page.getByLabel('Search').evaluate(async (field: HTMLInputElement) => {
      field.focus();
      document.execCommand('insertText', false, 'sandbox/story');
      await Promise.resolve();
      return [field.value, document.querySelectorAll('main tbody tr').length];
    });
    expect(then).toEqual(['sandbox/story', all]);
    await expectSoon(async () => expect(await rows.count()).toBe(1));
    await page.close();
  });

  it('shows the current draft after another operator changed it, and publishes nothing that was not shown', async () => {
    await system.cli('price', 'draft', 'sandbox/echo', '--output', '2', '--author', 'ada');
    const page = await operator.open('/operator/models/sandbox/echo');
    await page.getByText('by ada').waitFor();
    await system.cli('price', 'draft', 'sandbox/echo', '--output', '3', '--author', 'bob');
    await page.getByRole('button', { name: 'Publish…' }).click();
    await popup(page).getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByRole('alert').getByText('bob has changed the price draft').waitFor();
    await page.getByText('by bob, ').waitFor();
    expect(
      await page
        .getByRole('table', { name: 'Price changes' })
        .getByRole('row', { name: /^Output/ })
        .innerText(),
    ).toContain('$3.00');
    await page.getByRole('button', { name: 'Discard' }).click();
    await popup(page).getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Change price' }).waitFor();
    expect(await system.cli('price', 'list', 'sandbox/echo')).not.toContain('$3');
    expect(operator.faults).toEqual([]);
    await page.close();
  });

  it('does not replace a draft that another operator saved while the form was open', async () => {
    await system.cli('price', 'draft', 'sandbox/echo', '--output', '2', '--author', 'ada');
    const page = await operator.open('/operator/models/sandbox/echo');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await popup(page).getByLabel('Output').fill('4');
    await system.cli('price', 'draft', 'sandbox/echo', '--output', '3', '--author', 'bob');
    // The page below is refreshed, for example after the window had the focus again.
    await page.waitForTimeout(2500);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange', { bubbles: true })));
    await page.getByText('by bob, ').waitFor();
    await popup(page).getByRole('button', { name: 'Save draft' }).click();
    await popup(page).getByText('bob has changed the price draft').waitFor();
    await popup(page).getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Discard' }).click();
    await popup(page).getByRole('button', { name: 'Discard' }).click();
    await page.getByRole('button', { name: 'Change price' }).waitFor();
    await page.close();
  });

  it('keeps the start of a draft that is edited in another respect, also in an hour that the clocks show twice', async () => {
    const start = '2027-11-07T06:30:45.000Z';
    const headers = { 'x-tollgate-console': '1' };
    const prices = { input: '1', cache_read: '1', cache_write_5m: '1', cache_write_1h: '1', output: '2', reasoning: null };
    const draft = 'console/api/operator/price-drafts/sandbox/echo';
    await operator.context.request.put(draft, { data: { usd_per_million_tokens: prices, effective_from: start }, headers });
    const person = await newMember(chromium, system, who, { timeZone: 'America/New_York' });
    const page = await person.open('/operator/models/sandbox/echo');
    await page.getByRole('button', { name: 'Edit', exact: true }).click();
    await popup(page).getByLabel('Output').fill('4');
    await popup(page).getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('Draft saved').waitFor();
    const saved: unknown = await (await operator.context.request.get(draft)).json();
    expect(saved).toMatchObject({ effective_from: start, usd_per_million_tokens: { output: '4' } });
    await operator.context.request.delete(draft, { headers });
    await person.close();
  });

  it('shows the fault of each field of a model, and keeps what another operator changed in the meantime', async () => {
    const page = await operator.open('/operator/models/sandbox/echo?tab=fields');
    const save = page.getByRole('button', { name: 'Save', exact: true });
    const provider = page.getByLabel('Provider');
    await provider.fill('x'.repeat(101));
    // What was typed is there again after a look at the prices.
    await page.getByRole('tab', { name: 'Prices' }).click();
    await page.getByRole('tab', { name: 'Details and targets' }).click();
    await save.click();
    await page.locator('[aria-invalid=true]').waitFor();
    const model = await system.json<Record<string, unknown>>('model', 'show', 'sandbox/echo');
    const file = join(mkdtempSync(join(tmpdir(), 'tollgate-model-')), 'model.json');
    writeFileSync(file, JSON.stringify({ ...model, description: 'Changed by another operator.' }));
    await system.cli('model', 'put', file);
    for (const name of ['Acme', 'Acme Ltd']) {
      await provider.fill(name);
      await save.click();
      await eventually(async () =>
        (await system.json<{ provider: string }>('model', 'show', 'sandbox/echo')).provider === name ? true : undefined,
      );
    }
    expect(await system.json('model', 'show', 'sandbox/echo')).toMatchObject({ description: 'Changed by another operator.' });
    rmSync(dirname(file), { recursive: true });
    await page.close();
  });

  it('does not pause a model indefinitely when the end time is missing', async () => {
    const page = await operator.open('/operator/models/sandbox/echo');
    await page.getByRole('button', { name: 'Pause' }).click();
    const until = popup(page).getByLabel(/^Until/);
    await until.focus();
    await page.keyboard.type('12312030');
    await popup(page).getByRole('button', { name: 'Pause' }).click();
    expect(await until.evaluate((field: HTMLInputElement) => field.validity.badInput)).toBe(true);
    await page.keyboard.press('Escape');
    await popup(page).waitFor({ state: 'detached' });
    expect(await system.json('model', 'show', 'sandbox/echo')).toMatchObject({ paused: null });
    await page.close();
  });

  it('finds all models again after a search that no model matches', async () => {
    const page = await operator.open('/operator/models');
    await page.getByRole('searchbox', { name: 'Search' }).fill('no such model');
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('link', { name: 'Sandbox Echo', exact: true }).waitFor();
    await page.close();
  });

  it('repairs an upstream that fails its test, keeps the test result across a reload, and serves a new model’s first call', async () => {
    const page = await operator.open('/operator/upstreams');
    await page.getByText('This upstream is set by ANTHROPIC_API_KEY').waitFor();
    await expectSoon(async () =>
      expect(await page.getByRole('region', { name: 'anthropic' }).getByRole('button', { name: 'Edit', exact: true }).count()).toBe(0),
    );
    await page.getByRole('button', { name: 'Add upstream' }).click();
    const dialog = popup(page);
    await dialog.getByLabel('ID', { exact: true }).fill('acme');
    await dialog.getByLabel('Base URL').fill(stub.baseUrl);
    await dialog.getByLabel('Secret').fill('sk-wrong-0123456789abcd');
    await dialog.getByRole('button', { name: 'Add upstream' }).click();
    // The address is private, and the API's error is shown at the field.
    await dialog.locator('[aria-invalid=true]').waitFor();
    await dialog.getByLabel('Allow private addresses').check();
    await dialog.getByRole('button', { name: 'Add upstream' }).click();
    await dialog.waitFor({ state: 'detached' });

    const card = page.getByRole('region', { name: 'acme' });
    const test = async (): Promise<void> => {
      await card.getByRole('button', { name: 'Test connection' }).click();
      await popup(page).getByRole('button', { name: 'Run the test' }).click();
      await popup(page).waitFor({ state: 'detached' });
    };
    await card.getByText('…abcd').waitFor();
    await test();
    await card.getByText('Failed: Authentication').waitFor();
    stub.takeRefused();
    await page.reload();
    await card.getByText('Failed: Authentication').waitFor();
    await expectSoon(async () =>
      expect(await card.getByRole('row', { name: /^Authentication/ }).innerText()).toContain('the secret is refused'),
    );
    await expectSoon(async () => expect(await card.getByRole('row', { name: /^List of models/ }).innerText()).toContain('Not run'));

    await card.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByText('Replace').click();
    await dialog.getByLabel('New secret').fill(stubApiKey);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    await card.getByText('Not tested yet, or changed since the last test.').waitFor();
    await test();
    await card.getByText('All checks passed').waitFor();
    await page.reload();
    await card.getByText('All checks passed').waitFor();
    expect(await page.content()).not.toContain(stubApiKey);
    expect(await accessibilityFaults(page)).toEqual([]);

    await page.goto(`${system.baseUrl}/console/operator/models?new=1`);
    await dialog.getByLabel('ID', { exact: true }).fill('acme/fast');
    await dialog.getByLabel('Name', { exact: true }).fill('Acme Fast');
    await dialog.getByLabel('Output limit (tokens)').fill('999999');
    await dialog.getByLabel('Upstream', { exact: true }).selectOption('acme');
    await dialog.getByLabel('Model name at the upstream').fill('text');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await dialog.getByText('must not exceed context_limit_tokens').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByLabel('Output limit (tokens)').fill('4000');
    await dialog.getByRole('button', { name: 'Create' }).click();
    await page.getByText('The model has no price in force.').waitFor();
    await page.getByRole('button', { name: 'Set price' }).click();
    await dialog.getByLabel('Input').fill('1');
    await dialog.getByLabel('Output').fill('5');
    await dialog.getByRole('button', { name: 'Save draft' }).click();
    await page.getByText('The model has no price now').waitFor();
    await page.getByRole('button', { name: 'Publish…' }).click();
    await popup(page).getByRole('button', { name: 'Publish', exact: true }).click();
    await page.getByText('Price published').waitFor();
    await eventually(async () =>
      (await chat(system, system.firstKey, { model: 'acme/fast', max_tokens: 20 })).status === 200 ? true : undefined,
    );
    await page.getByText('Served', { exact: true }).waitFor();

    // An edit sends only the changed fields, so that it does not revert another operator's changes.
    await page.getByRole('tab', { name: 'Details and targets' }).click();
    await page.getByLabel('Aliases').fill('fast');
    await page.getByLabel('Priority').fill('2');
    await page.getByLabel('Weight').fill('7');
    await page.getByLabel('Route prompts with the same prefix to the same target').uncheck();
    await operator.context.request.patch('console/api/operator/models/acme/fast', {
      data: { model: { description: 'Quick.' } },
      headers: { 'x-tollgate-console': '1' },
    });
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Model saved').waitFor();
    expect(await system.json('model', 'show', 'fast')).toMatchObject({
      id: 'acme/fast',
      description: 'Quick.',
      aliases: ['fast'],
      targets: [{ upstream_id: 'acme', upstream_model: 'text', priority: 2, weight: 7 }],
      prefix_affinity: false,
    });

    // The health of its target, which an operator drains and returns; a second credential; limits.
    await page.goto(`${system.baseUrl}/console/operator/upstreams`);
    const health = card.getByRole('table', { name: 'Health of the targets of acme' });
    const target = health.getByRole('row', { name: /^text/ }).first();
    const call = async () => (await chat(system, system.firstKey, { model: 'acme/fast', max_tokens: 20 })).status;
    await eventually(async () => {
      expect(await call()).toBe(200);
      return /In service.*0 of \d+/s.test(await target.innerText()) ? true : undefined;
    }, 30_000);
    const decide = async (name: string) => {
      await target.getByRole('button', { name: 'Actions for the target text' }).click();
      await page.getByRole('menuitem', { name }).click();
    };
    await decide('Drain');
    await popup(page).getByText('even if it is the last target').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await popup(page).getByRole('button', { name: 'Drain' }).click();
    await target.getByText('Drained').waitFor();
    await eventually(async () => ((await call()) === 503 ? true : undefined));
    await decide('Return to service');
    await target.getByText('In service').waitFor();
    await eventually(async () => ((await call()) === 200 ? true : undefined));

    await card.getByRole('button', { name: 'Actions for acme' }).click();
    await page.getByRole('menuitem', { name: 'Add credential' }).click();
    await dialog.getByLabel('Name').fill('second');
    await dialog.getByLabel('Secret').fill('sk-revoked-0123456789');
    await dialog.getByRole('button', { name: 'Add credential' }).click();
    await card
      .getByRole('table', { name: 'Credentials of acme' })
      .getByRole('row', { name: /^second.*…6789/ })
      .waitFor();
    await eventually(async () => {
      expect(await call()).toBe(200);
      return /Ejected/.test(await health.getByRole('row', { name: /credential second/ }).innerText()) ? true : undefined;
    }, 30_000);
    stub.takeRefused();
    await card.getByRole('button', { name: 'Actions for the credential second' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await popup(page).getByRole('button', { name: 'Remove' }).click();
    await card.getByRole('table', { name: 'Credentials of acme' }).waitFor({ state: 'detached' });

    await card.getByRole('button', { name: 'Edit', exact: true }).click();
    await dialog.getByText('Timeouts and limits').click();
    await dialog.getByLabel('Requests per minute that the vendor allows').fill('600');
    await dialog.getByLabel('Connect timeout (ms)').fill('1');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.locator('[aria-invalid=true]').waitFor();
    await dialog.getByLabel('Connect timeout (ms)').fill('');
    expect(await accessibilityFaults(page)).toEqual([]);
    await operator.context.request.patch('console/api/operator/upstreams/acme', {
      data: { upstream: { whole_answers: true, limits: { calls_max: 9 } } },
      headers: { 'x-tollgate-console': '1' },
    });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    // What another operator changed meanwhile is kept.
    expect(await system.json('upstream', 'show', 'acme')).toMatchObject({
      whole_answers: true,
      limits: { requests_per_minute: 600, connect_timeout_ms: null, calls_max: 9 },
      credentials: [{ id: 'default' }],
    });

    // The upstream cannot be deleted while the model uses it, and the page says so in advance.
    await card.getByRole('button', { name: 'Actions for acme' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await popup(page).getByText('acme/fast').waitFor();
    await expectSoon(async () => expect(await popup(page).getByRole('button', { name: 'Delete' }).isDisabled()).toBe(true));
    await settledPage(page);
    expect(operator.faults).toEqual([]);
    await page.close();
  });
});
