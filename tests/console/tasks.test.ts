// Common tasks, by pointer and by keyboard, in no more actions than given.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium, Locator } from 'playwright-core';
import { DepositSource } from '#proto/ledger/v1/ledger.js';
import { Role } from '#proto/auth/v1/users.js';
import { parseCliConfig } from '../../cli/config.js';
import { connect, operatorCall, type Services } from '../../cli/connect.js';
import { chat, settled } from '../support/clients/calls.js';
import { expectSoon, follow, newMember, newPerson, type Page, type Person, startChromium } from '../support/clients/chromium.js';
import { type Browser, password, signedIn } from '../support/clients/console.js';
import { handNames, type Hands, handsOn } from './hands.js';
import { eventually } from '../support/systems/process.js';
import { startSystem, type System } from '../support/systems/system.js';

const ownerEmail = 'owner@example.com';
const newcomer = (hand: string): string => `${hand}@example.com`;

let system: System;
let chromium: Chromium;
let services: Services;
let api: Browser;
let member: Person;
let page: Page;
let account: string;
let refusedId: string;
let chargedId: string;

/** Creates a user who owns a new account with funds. Returns the account's id. */
async function addOwner(email: string, isOperator = false): Promise<string> {
  const { user } = await services.users.createUser({ email, name: email, password, isOperator }, operatorCall());
  const { account: created } = await services.auth.createAccount(
    { name: email, idempotencyKey: '', rateLimits: undefined },
    operatorCall(),
  );
  const accountId = created!.id;
  await services.users.putMember({ accountId, userId: user!.id, role: Role.ROLE_OWNER }, operatorCall());
  const deposit = {
    idempotencyKey: email,
    accountId,
    amountNanoUsd: 5_000_000_000n,
    source: DepositSource.DEPOSIT_SOURCE_PROMOTION,
    reason: '',
  };
  await services.ledger.deposit(deposit, operatorCall());
  return accountId;
}

const keyName = (hand: string): string => `spends by ${hand}`;
const secrets = new Map<string, string>();

beforeAll(async () => {
  [system, chromium] = await Promise.all([startSystem('single'), startChromium()]);
  services = await connect(parseCliConfig(system.operatorEnv()));
  const accountId = await addOwner(ownerEmail, true);
  for (const hand of handNames) await addOwner(newcomer(hand));
  api = await signedIn(system, ownerEmail);
  account = `/accounts/${accountId}`;
  for (const name of handNames.map(keyName))
    secrets.set(name, (await api.must<{ secret: string }>('POST', `${account}/keys`, { name }, 201)).secret);
  const requestIds: string[] = [];
  for (const [hand, model] of [
    ...handNames.map((hand) => [hand, 'sandbox/story']),
    ['pointer', 'sandbox/echo'],
    ['pointer', 'acme/unknown'],
  ]) {
    const response = await chat(system, secrets.get(keyName(hand!))!, { model });
    await response.text();
    requestIds.push(response.headers.get('x-request-id')!);
  }
  [chargedId, , , refusedId] = requestIds as [string, string, string, string];
  await settled(system, accountId, 3);
  await eventually(async () => (await api.get<{ data: unknown[] }>(`${account}/refusals?request_id=${refusedId}`)).data[0]);
  member = await newMember(chromium, system, { email: ownerEmail, password });
  page = await member.open('/nowhere');
});

afterAll(async () => {
  services?.close();
  await chromium?.close();
  await system?.stop();
});

it('finds why a call was refused by its request id in 2 actions', async () => {
  await follow(page, account);
  const hands = handsOn('pointer', page);
  await hands.press(page.getByRole('button', { name: /^Go to/ }));
  await hands.type(page.getByRole('combobox', { name: 'Go to' }), refusedId);
  await page.getByText('This call was refused').waitFor();
  expect(hands.actions).toBeLessThanOrEqual(2);
});

describe.each(handNames)('by %s', (hand) => {
  const dialog = (): Locator => page.locator('[role=dialog]:not([aria-modal=false])');
  const place = (name: string): Locator => page.getByRole('navigation').getByRole('link', { name, exact: true }).first();

  /** Begins a task on a page of the account, or of the operator. */
  async function at(path: string): Promise<Hands> {
    await follow(page, path);
    return handsOn(hand, page);
  }

  it('makes the first call from sign-in in 6 actions', async () => {
    const person = await newPerson(chromium, system.baseUrl);
    const own = await person.open('/sign-in');
    const hands = handsOn(hand, own);
    await hands.type(own.getByLabel('Email address'), newcomer(hand));
    await hands.type(own.getByLabel('Password'), password);
    await hands.press(own.getByRole('button', { name: 'Sign in', exact: true }));
    await hands.press(own.getByRole('link', { name: 'Create key' }));
    await hands.press(own.getByRole('dialog').getByRole('button', { name: 'Create key' }));
    await hands.press(own.getByRole('button', { name: 'Send a test call' }));
    await own.getByText('It works. The call was recorded').waitFor();
    expect(hands.actions).toBeLessThanOrEqual(6);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('finds why a call was refused in 2 actions', async () => {
    const hands = await at(account);
    await hands.press(page.getByRole('link', { name: '1 × unknown model' }));
    await page
      .getByRole('row')
      .filter({ has: page.locator(`a[href$="${refusedId}"]`) })
      .getByText('acme/unknown')
      .first()
      .waitFor();
    expect(hands.actions).toBeLessThanOrEqual(2);
  });

  it('finds what a call cost, and why, in 2 actions', async () => {
    const hands = await at(account);
    await hands.press(place('Usage records'));
    await hands.press(page.getByRole('row').locator(`a[href*="${chargedId}"]`));
    const lines = dialog().getByRole('table', { name: 'The charge' });
    const { charge_usd: charge } = await api.get<{ charge_usd: string }>(`${account}/usage/records/${chargedId}`);
    await lines
      .getByRole('row', { name: /^Total/ })
      .getByText(charge)
      .first()
      .waitFor();
    await expectSoon(async () => expect(await lines.getByRole('row').count()).toBeGreaterThan(2));
    expect(hands.actions).toBeLessThanOrEqual(2);
  });

  it('finds the most expensive model of the week in 1 action', async () => {
    const hands = await at(account);
    await hands.press(place('Usage'));
    const [dearest] = (await api.get<{ data: { name: string }[] }>(`${account}/usage/totals?group_by=model`)).data;
    await page.getByRole('radio', { name: '7 d', checked: true }).waitFor();
    await page.getByRole('table', { name: 'By model' }).getByRole('row').nth(1).getByRole('link', { name: dearest!.name }).waitFor();
    expect(hands.actions).toBeLessThanOrEqual(1);
  });

  it('stops a key that spends too much in 2 actions', async () => {
    const hands = await at(account);
    await hands.press(page.getByRole('table', { name: 'Keys, 30 days' }).getByRole('link', { name: keyName(hand) }));
    await hands.press(page.getByRole('button', { name: 'Disable' }));
    await eventually(async () => ((await chat(system, secrets.get(keyName(hand))!)).status === 403 ? true : undefined));
    expect(hands.actions).toBeLessThanOrEqual(2);
  });

  it('sets a monthly budget in 4 actions', async () => {
    const hands = await at(account);
    await hands.press(place('Projects and budgets'));
    await hands.press(page.getByRole('button', { name: 'Set a budget' }));
    await hands.type(dialog().getByLabel('Limit in USD'), '100');
    await hands.press(dialog().getByRole('button', { name: 'Save' }));
    await page.getByText('of $100.00 spent').waitFor();
    expect(hands.actions).toBeLessThanOrEqual(4);
    const budgets = `${account}/budgets`;
    expect(await api.get(budgets)).toMatchObject({ budgets: [{ period: 'month', limit_usd: '100', soft: false }] });
    await api.must('PATCH', budgets, { budgets: [] }, 200);
  });

  it('publishes a price in 4 actions', async () => {
    const { data: models } = await api.get<{ data: { id: string; pricing: string }[] }>('/operator/models');
    const model = models.filter(({ pricing }) => pricing === 'priced')[handNames.indexOf(hand)]!.id;
    const output = '0.75';
    const hands = await at('/operator/models');
    await hands.press(
      page
        .getByRole('row')
        .filter({ hasText: model })
        .getByRole('link', { name: /^Change price/ }),
    );
    await hands.type(dialog().getByLabel('Output'), output);
    await hands.press(dialog().getByRole('button', { name: 'Review and publish…' }));
    await dialog()
      .getByRole('row', { name: /^Output/ })
      .getByText(`$${output}`)
      .waitFor();
    await hands.press(dialog().getByRole('button', { name: 'Publish', exact: true }));
    await eventually(async () => {
      const { price } = await api.get<{ price: { usd_per_million_tokens: { output: string } } }>(`/operator/models/${model}`);
      return price.usd_per_million_tokens.output === output || undefined;
    });
    expect(hands.actions).toBeLessThanOrEqual(4);
  });

  it('logs no error', () => expect(member.faults).toEqual([]));
});
