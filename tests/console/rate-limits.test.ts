// Rate limits in a real browser: an operator limits an account and one of its models, a member limits a key.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium } from 'playwright-core';
import { accessibilityFaults, popup, fact, newMember, type Person, settledPage, startChromium } from '../support/clients/chromium.js';
import { addMember, addUser, password } from '../support/clients/console.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const operator = { email: 'operator@example.com', password };
const owner = { email: 'owner@example.com', password };

describe.each(browserModes)('rate limits in the console, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let accountId: string;

  beforeAll(async () => {
    [system, chromium] = await Promise.all([
      startSystem(mode, { TOLLGATE_GATEWAY_KEY_RPM: '600', TOLLGATE_GATEWAY_KEY_TPM: '20000' }),
      startChromium(),
    ]);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await addUser(system, operator.email, password, '--operator');
    await addMember(system, accountId, owner.email, 'owner');
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  const signedIn = (who: typeof operator): Promise<Person> => newMember(chromium, system, who);

  it('of an account and one of its models are set, shown and removed by an operator', async () => {
    const person = await signedIn(operator);
    const page = await person.open(`/operator/accounts/${accountId}`);
    await fact(page, 'Rate limits').getByText('None').waitFor();
    await page.getByRole('button', { name: 'Edit limits' }).click();
    const form = popup(page);
    await form.getByLabel('Requests per minute').fill('600');
    await form.getByRole('button', { name: 'Add a model' }).click();
    await form.getByLabel('Tokens per minute').last().fill('a few');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Enter a whole number up to 1,000,000,000, or leave it empty.').waitFor();
    await form.getByText('Enter a different model id in each row.').waitFor();
    await settledPage(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    await form.getByLabel('Model id').fill('sandbox/echo');
    await form.getByLabel('Tokens per minute').last().fill('9000');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    await fact(page, 'Rate limits').getByText('600 requests per minute').waitFor();
    await fact(page, 'Rate limits').getByText('9,000 tokens per minute').waitFor();
    expect(await system.json('account', 'show', accountId)).toMatchObject({
      rate_limits: { rpm: 600, tpm: null, concurrency: null, models: { 'sandbox/echo': { rpm: null, tpm: 9000 } } },
    });

    await page.getByRole('button', { name: 'Edit limits' }).click();
    await form.getByRole('button', { name: 'Remove the limits of sandbox/echo' }).click();
    await form.getByLabel('Requests per minute').fill('');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    await fact(page, 'Rate limits').getByText('None').waitFor();
    expect(person.faults).toEqual([]);
  });

  it('of a key are set by a member of its account, at its creation and later', async () => {
    const person = await signedIn(owner);
    const page = await person.open(`/accounts/${accountId}/keys`);
    await page.getByRole('button', { name: 'Create key' }).first().click();
    const form = popup(page);
    await form.getByLabel('Name').fill('limited');
    await form.getByText('spend, rate and expiry').click();
    await form.getByText('Default: 20,000').waitFor();
    await form.getByLabel('Requests per minute').fill('60');
    await form.getByRole('button', { name: 'Create key' }).click();
    await page.getByTestId('secret').waitFor();
    const key = await system.json<{ id: string }>('key', 'list', '--account', accountId);
    expect(key).toMatchObject({ name: 'limited', rate_limits: { rpm: 60, tpm: null, concurrency: null } });

    const other = await person.open(`/accounts/${accountId}/keys/${key.id}?edit`);
    await popup(other).getByLabel('Concurrent calls').fill('5');
    await popup(other).getByRole('button', { name: 'Save' }).click();
    await fact(other, 'Rate limits')
      .getByText('60 requests per minute · 20,000 tokens per minute (default) · 5 concurrent calls')
      .waitFor();
    expect(await system.json('key', 'show', key.id)).toMatchObject({ rate_limits: { rpm: 60, concurrency: 5 } });
    expect(person.faults).toEqual([]);
  });
});
