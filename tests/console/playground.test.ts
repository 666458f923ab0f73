// The playground: answers are streamed, charged to the chosen key, and shown with their recorded cost.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium } from 'playwright-core';
import { chat, settled, type UsageRow } from '../support/clients/calls.js';
import { expectSoon, newMember, newPerson, type Person, startChromium } from '../support/clients/chromium.js';
import { addMember, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';
import { type SampleAccount, createSampleAccount } from './sample-account.js';

describe.each(browserModes)('the playground, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let sample: SampleAccount;
  let person: Person;

  beforeAll(async () => {
    system = await startSystem(mode);
    [chromium, sample] = await Promise.all([startChromium(), createSampleAccount(system)]);
    person = await newMember(chromium, system, sample.owner);
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  it('calls two models at once and shows the recorded cost of each', async () => {
    const page = await person.open(`/accounts/${sample.accountId}/playground`);
    await page.getByLabel('Model', { exact: true }).selectOption('sandbox/echo');
    await page.getByLabel('Compare with a second model').check();
    await page.getByLabel('Second model', { exact: true }).selectOption('sandbox/story');
    await page.getByLabel('Your message').fill('Tell me of the sea');
    await page.getByLabel('Your message').press('Enter');
    await page.locator('[data-answer=done]').nth(1).waitFor();
    await expectSoon(async () => expect(await page.locator('[data-answer=done]').first().innerText()).toBe('Tell me of the sea'));

    await page.getByRole('link', { name: 'Usage record', exact: true }).nth(1).waitFor();
    await settled(system, sample.accountId);
    const records = JSON.parse(
      `[${(await system.cli('usage', 'list', '--account', sample.accountId, '--json')).trim().split('\n').join(',')}]`,
    ) as UsageRow[];
    for (const link of await page.getByRole('link', { name: 'Usage record', exact: true }).all()) {
      const requestId = (await link.getAttribute('href'))!.split('/').at(-1);
      const record = records.find(({ id }) => id === requestId)!;
      expect(record.key_id).toBe(sample.keyId);
      const shown = await page
        .locator('li', { has: page.locator(`a[href$="${requestId}"]`) })
        .getByText('Cost')
        .locator('xpath=following-sibling::dd[1]')
        .innerText();
      expect(Math.round(Number(shown.replace('$', '')) * 1e9)).toBe(Number(record.charge_nano_usd));
    }
    expect(person.faults).toEqual([]);
    await page.close();
  });

  it('opens with the model of a catalog page, after signing in if necessary', async () => {
    const visitor = await newPerson(chromium, system.baseUrl);
    const page = await visitor.context.newPage();
    await page.goto('models/sandbox/reason');
    await page.getByRole('link', { name: 'Try it in the playground' }).click();
    await page.getByLabel('Email address').fill(sample.owner.email);
    await page.getByLabel('Password').fill(sample.owner.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.waitForURL(/\/accounts\/acct_\w+\/playground\?model=sandbox%2Freason$/);
    const model = page.getByLabel('Model', { exact: true });
    await expectSoon(async () => expect(await model.inputValue()).toBe('sandbox/reason'));
    // The address has the chosen model, and a model that the key may not call is not accepted silently.
    await model.selectOption('sandbox/echo');
    await page.waitForURL(/\?model=sandbox%2Fecho$/);
    await page.goto(`console/playground?model=${encodeURIComponent('nobody/none')}`);
    await page.getByText('nobody/none is not available with this key').waitFor();
    expect(visitor.faults).toEqual([]);
    await visitor.close();
  });

  it('begins with a key whose calls are not being refused', async () => {
    const browser = await signedIn(system, sample.owner.email);
    const keys = `/accounts/${sample.accountId}/keys`;
    const { key, secret } = await browser.must<{ key: { id: string }; secret: string }>(
      'POST',
      keys,
      { name: 'spent', limit_usd: '0.000000001' },
      201,
    );
    expect((await chat(system, secret, { model: 'sandbox/story', messages: [{ role: 'user', content: 'Hello' }] })).status).toBe(402);
    const list = () => browser.get<{ data: { id: string; refusing: object | null }[] }>(keys);
    await eventually(async () => ((await list()).data.find(({ id }) => id === key.id)!.refusing === null ? undefined : true));
    expect((await list()).data[0]!.id).toBe(key.id);
    // That the other key may call some models only makes no difference.
    await browser.must('PATCH', `${keys}/${sample.keyId}`, { models: ['sandbox/echo', 'sandbox/story'] }, 200);
    const page = await person.open(`/accounts/${sample.accountId}/playground`);
    await expectSoon(async () => expect(await page.getByLabel('Key to charge', { exact: true }).inputValue()).toBe(sample.keyId));
    await page.close();
    await browser.must('PATCH', `${keys}/${sample.keyId}`, { models: null }, 200);
  });

  it('continues the conversation, and stops an answer on request', async () => {
    const page = await person.open(`/accounts/${sample.accountId}/playground`);
    await page.getByLabel('Model', { exact: true }).selectOption('sandbox/stall');
    await page.getByLabel('Your message').fill('Wait for me');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('You stopped the response').waitFor();
    await page.getByLabel('Model', { exact: true }).selectOption('sandbox/echo');
    await page.getByLabel('Your message').fill('Once more');
    await page.keyboard.press('Enter');
    await page.locator('[data-answer=done]').waitFor();
    await expectSoon(async () => expect(await page.locator('[data-answer=done]').innerText()).toBe('Once more'));
    await page.close();
  });

  it('stops both models, even after the comparison was switched off', async () => {
    const page = await person.open(`/accounts/${sample.accountId}/playground`);
    const compare = page.getByLabel('Compare with a second model');
    await page.getByLabel('Model', { exact: true }).selectOption('sandbox/stall');
    await compare.check();
    await page.getByLabel('Second model', { exact: true }).selectOption('sandbox/stall');
    await page.getByLabel('Your message').fill('Wait for me');
    await page.keyboard.press('Enter');
    await compare.uncheck();
    await page.getByRole('button', { name: 'Stop' }).click();
    await compare.check();
    await page.getByText('You stopped the response').nth(1).waitFor();
    await page.close();
  });

  it('asks to check before a repeat if there is no answer, and not to reload the page', async () => {
    const page = await person.open(`/accounts/${sample.accountId}/playground`);
    await page.route('**/chat/completions', (route) => route.abort());
    await page.getByLabel('Your message').fill('Is anyone there?');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('No response from Tollgate').waitFor();
    await page.close();
  });

  it('does not show a part of an answer as the whole', async () => {
    const page = await person.open(`/accounts/${sample.accountId}/playground`);
    const chunk = { choices: [{ index: 0, delta: { content: 'The beginning' } }] };
    await page.route('**/chat/completions', (route) =>
      route.fulfill({ contentType: 'text/event-stream', body: `data: ${JSON.stringify(chunk)}\n\n` }),
    );
    await page.getByLabel('Your message').fill('Tell me all');
    await page.keyboard.press('Enter');
    await page.getByText('The beginning').waitFor();
    await page.getByRole('alert').getByText('No response from Tollgate').waitFor();
    expect(await page.locator('[data-answer=done]').count()).toBe(0);
    await page.close();
  });

  it('requires a role that may create keys, and an active key of the same account', async () => {
    await addMember(system, sample.accountId, 'viewer@example.com', 'viewer');
    const viewer = await signedIn(system, 'viewer@example.com');
    const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] };
    const path = (keyId: string, accountId = sample.accountId) => `/accounts/${accountId}/keys/${keyId}/chat/completions`;
    expect(await viewer.refusal('POST', path(sample.keyId), body)).toEqual([403, 'role_not_permitted']);

    const owner = await signedIn(system, sample.owner.email);
    expect((await owner.ask('POST', path(sample.keyId), body)).status).toBe(200);
    expect((await owner.ask('POST', path(sample.keyId), body, { 'x-tollgate-console': '' })).status).toBe(403);
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'Other');
    expect(await owner.refusal('POST', path(sample.keyId, other), body)).toEqual([404, 'not_found']);
    const { data: keys } = await owner.get<{ data: { id: string; state: string }[] }>(`/accounts/${sample.accountId}/keys`);
    expect(await owner.refusal('POST', path(keys.find(({ state }) => state === 'disabled')!.id), body)).toEqual([403, 'key_disabled']);
    await system.cli('account', 'suspend', sample.accountId);
    expect(await owner.refusal('POST', path(sample.keyId), body)).toEqual([403, 'account_suspended']);
  });
});
