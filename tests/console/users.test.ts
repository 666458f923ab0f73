// Users in the console: they sign in and out, join by link, invitation, sign-up and identity provider, and see what their role allows.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { generateSync } from 'otplib';
import { accessibilityFaults, expectSoon, newMember, newPerson, type Page, startChromium } from '../support/clients/chromium.js';
import { addMember, addUser, password } from '../support/clients/console.js';
import { type Idp, startIdp } from '../support/vendors/idp.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };

describe.each(browserModes)('users in the console, %s', (mode) => {
  let idp: Idp;
  let system: System;
  let chromium: Browser;
  let accountId: string;
  let account: string;

  beforeAll(async () => {
    idp = await startIdp();
    system = await startSystem(mode, {
      TOLLGATE_AUTH_SIGN_UP: 'true',
      TOLLGATE_AUTH_OIDC_ISSUER: idp.issuer,
      TOLLGATE_AUTH_OIDC_CLIENT_ID: idp.clientId,
      TOLLGATE_AUTH_OIDC_CLIENT_SECRET: idp.clientSecret,
      TOLLGATE_AUTH_OIDC_NAME: 'Acme ID',
    });
    idp.redirectUris.add(`${system.baseUrl}/console/api/oidc/callback`);
    chromium = await startChromium();
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    account = `/accounts/${accountId}`;
    await addMember(system, accountId, owner.email, 'owner', '--name', 'Olga');
  });

  beforeEach(() => {
    idp.fault = undefined;
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
    await idp?.stop();
  });

  const nobody = () => newPerson(chromium, system.baseUrl);
  const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor();
  const signOut = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'Sign in');
  };

  it('sign in with a password and out, and reach the page that they requested', async () => {
    const person = await nobody();
    const page = await person.open(`${account}/members`);
    await heading(page, 'Sign in');
    await page.getByLabel('Email address').fill('Owner@Example.com');
    await page.getByLabel('Password').fill('something else');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('is wrong').waitFor();
    await expectSoon(async () => expect(await page.getByLabel('Password').inputValue()).toBe(''));
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await heading(page, 'Members');
    expect(new URL(page.url()).pathname).toBe(`/console${account}/members`);
    await signOut(page);
    await page.goto(`${system.baseUrl}/console/settings`);
    await heading(page, 'Sign in');
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('see how long to wait after too many wrong passwords', async () => {
    await addUser(system, 'tried@example.com', password);
    const person = await nobody();
    const page = await person.open('/sign-in');
    await page.getByLabel('Email address').fill('tried@example.com');
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await page.getByLabel('Password').fill('wrong guess');
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
      await page.getByRole('alert').waitFor();
      await page.waitForFunction(() => document.querySelector<HTMLInputElement>('input[name=password]')?.value === '');
    }
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText(/Too many attempts. Wait 15 minutes/).waitFor();
    await person.close();
  });

  it('start with the operator’s link, which only the button redeems, and set up their profile', async () => {
    const link = readFileSync(join(system.dataDir, 'first-console-link'), 'utf8').trim();
    const person = await nobody();
    // Opened without pressing the button, as a link preview does.
    const preview = await person.context.newPage();
    await preview.goto(link);
    await heading(preview, 'Sign in with a link');
    await preview.close();
    const page = await person.context.newPage();
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('Your sign-in link can be used once. Set a password to sign in again.').waitFor();
    expect(page.url()).toMatch(/\/console\/accounts\/acct_\w+\?welcome$/);
    // Every page of an operator can be reached without scrolling the navigation.
    const navigation = page.locator('nav > div').first();
    expect(await navigation.evaluate((list) => [list.scrollHeight - list.clientHeight, innerHeight])).toEqual([0, 800]);
    await page.getByRole('link', { name: 'Set a password' }).click();
    await page.getByLabel('New password').fill(password);
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByText('Password set').waitFor();
    await page.getByRole('link', { name: 'Settings' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Root Person');
    await page.getByLabel('Email address').fill('root@example.com');
    await page.getByLabel('Current password').fill(password);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    await signOut(page);

    await page.goto('about:blank');
    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.getByText('The link was already used').waitFor();
    const again = await newMember(chromium, system, { email: 'root@example.com', password });
    const users = await again.open('/operator/users');
    await users.close();
    expect([...person.faults, ...again.faults]).toEqual([]);
    await person.close();
    await again.close();
  });

  it('accept an invitation in another browser, and see what their role allows', async () => {
    const host = await newMember(chromium, system, owner);
    const members = await host.open(`${account}/members`);
    await members.getByRole('button', { name: 'Invite member' }).click();
    await members.getByLabel('Email address').fill('vera@example.com');
    await members.getByRole('radio', { name: /^viewer/ }).check();
    await members.getByRole('button', { name: 'Create invitation' }).click();
    const link = (await members.getByRole('region', { name: 'Invitation link' }).textContent())!;
    expect(link).toMatch(new RegExp(`^${system.baseUrl}/console/invitation#[\\w-]{43}$`));
    // Only the button closes a dialog with something that is shown once.
    await members.keyboard.press('Escape');
    await members.goBack();
    await members.getByRole('button', { name: 'I have saved the link' }).click();
    await members.getByRole('table', { name: 'Pending invitations' }).getByText('vera@example.com').waitFor();

    const guest = await nobody();
    const page = await guest.context.newPage();
    await page.goto(link);
    await heading(page, 'Join Acme');
    await page.getByText('vera@example.com is invited as viewer.').waitFor();
    await page.getByLabel('Your name').fill('Vera');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Accept invitation' }).click();
    await page.waitForURL(`${system.baseUrl}/console${account}`);
    await page.goto(`${system.baseUrl}/console${account}/members`);
    await page.getByRole('table', { name: 'Members' }).getByText('owner@example.com').waitFor();
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Invite member' }).count()).toBe(0));
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Actions for owner@example.com' }).count()).toBe(0));
    await expectSoon(async () => expect(await page.getByRole('table', { name: 'Pending invitations' }).count()).toBe(0));
    await expectSoon(async () => expect(await page.getByRole('link', { name: 'Audit log' }).count()).toBe(0));
    await page.goto(`${system.baseUrl}/console${account}/audit`);
    await page.getByText('Only owners and admins can see the audit log.').waitFor();

    // The invitation has been used.
    const late = await (await nobody()).context.newPage();
    await late.goto(link);
    await late.getByText('This invitation is no longer valid').first().waitFor();

    // The role changes immediately, and the audit log shows all of it.
    await members.reload();
    await members.getByRole('button', { name: 'Actions for vera@example.com' }).click();
    await members.getByRole('menuitem', { name: 'Change role' }).click();
    await members.getByRole('radio', { name: /^admin/ }).check();
    await members.getByRole('button', { name: 'Change role' }).click();
    await members.getByText('vera@example.com now has the role admin').waitFor();
    await page.reload();
    const log = page.getByRole('table', { name: 'Audit log' });
    await log
      .getByRole('row')
      .filter({ hasText: 'changed a role' })
      .filter({ hasText: 'vera@example.com' })
      .getByText('Role: admin')
      .waitFor();
    await log.getByText('accepted an invitation').waitFor();
    const actor = page.getByLabel('Actor', { exact: true });
    await actor.selectOption({ label: 'vera@example.com' });
    await log.getByText('changed a role').waitFor({ state: 'detached' });
    await log.getByText('accepted an invitation').waitFor();
    await page.reload();
    await actor.locator('option:checked').filter({ hasText: 'vera@example.com' }).waitFor({ state: 'attached' });
    await actor.selectOption({ label: 'Operator CLI and internal programs' });
    await log.getByText('accepted an invitation').waitFor({ state: 'detached' });
    await page.goto(`${system.baseUrl}/console${account}/members`);
    // An admin cannot change an owner.
    await page.getByRole('button', { name: 'Invite member' }).waitFor();
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Actions for owner@example.com' }).count()).toBe(0));

    await page.getByRole('button', { name: 'Actions for vera@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Leave account' }).click();
    await page.getByRole('button', { name: 'Leave account' }).click();
    await heading(page, 'You are not a member of any account');
    expect([...host.faults, ...guest.faults]).toEqual([]);
    await host.close();
    await guest.close();
  });

  it('accept an invitation with the identity provider, if it knows them by the invited address', async () => {
    const host = await newMember(chromium, system, owner);
    const members = await host.open(`${account}/members`);
    await members.getByRole('button', { name: 'Invite member' }).click();
    await members.getByLabel('Email address').fill('gail@example.com');
    await members.getByRole('radio', { name: /^viewer/ }).check();
    await members.getByRole('button', { name: 'Create invitation' }).click();
    const link = (await members.getByRole('region', { name: 'Invitation link' }).textContent())!;

    idp.person = { sub: 'gail at home', email: 'gail@elsewhere.example', email_verified: true, name: 'Gail' };
    const guest = await nobody();
    const page = await guest.context.newPage();
    await page.goto(link);
    await heading(page, 'Join Acme');
    const enter = () => page.getByRole('button', { name: 'Continue with Acme ID' }).click();
    await enter();
    await page.getByRole('alert').getByText('This invitation is for a different email address.').waitFor();
    await page.getByText('gail@example.com is invited as viewer.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    idp.person = { ...idp.person, sub: 'gail', email: 'Gail@Example.com' };
    await enter();
    await page.waitForURL(`${system.baseUrl}/console${account}`);

    const late = await (await nobody()).context.newPage();
    await late.goto(link);
    await late.getByText('This invitation is no longer valid').first().waitFor();
    expect([...host.faults, ...guest.faults]).toEqual([]);
    await host.close();
    await guest.close();
  });

  it('revoke invitations, and cannot leave an account without an owner', async () => {
    const host = await newMember(chromium, system, owner);
    const page = await host.open(`${account}/members`);
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByLabel('Email address').fill('late@example.com');
    await page.getByRole('button', { name: 'Create invitation' }).click();
    const link = (await page.getByRole('region', { name: 'Invitation link' }).textContent())!;
    await page.getByRole('button', { name: 'I have saved the link' }).click();
    await page.getByRole('button', { name: 'Revoke the invitation for late@example.com?' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
    await page.getByText('No pending invitations.').waitFor();
    const late = await nobody();
    const ended = await late.context.newPage();
    await ended.goto(link);
    await ended.getByText('This invitation is no longer valid').first().waitFor();

    await page.getByRole('button', { name: 'Actions for owner@example.com' }).click();
    await page.getByRole('menuitem', { name: 'Leave account' }).click();
    await page.getByRole('button', { name: 'Leave account' }).click();
    await page.getByText('An account needs at least one owner').waitFor();
    await late.close();
    await host.close();
  });

  it('see that an account has no members', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Empty');
    await addUser(system, 'operator@example.com', password, '--operator');
    const person = await newMember(chromium, system, { email: 'operator@example.com', password });
    const page = await person.open(`/accounts/${id}/members`);
    await page.getByText('No members yet').waitFor();
    await expectSoon(async () => expect(await page.getByRole('table', { name: 'Members' }).count()).toBe(0));
    await person.close();
  });

  it('see on the password reset page that no link can be sent without mail', async () => {
    const person = await nobody();
    const page = await person.open('/forgot');
    await page.getByText('Ask the operator of this gateway for a sign-in link.').waitFor();
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Email me a link' }).count()).toBe(0));
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('see their sessions, and end them', async () => {
    await addUser(system, 'many@example.com', password);
    const who = { email: 'many@example.com', password };
    const [here, there, third] = [
      await newMember(chromium, system, who),
      await newMember(chromium, system, who),
      await newMember(chromium, system, who),
    ];
    const elsewhere = await there.open('/settings/security');
    const page = await here.open('/settings/security');
    const sessions = page.getByRole('table', { name: 'Where you are signed in' });
    await sessions.getByRole('row').nth(3).waitFor();
    await expectSoon(async () => expect(await sessions.getByText('this session', { exact: true }).count()).toBe(1));
    await sessions
      .getByRole('button', { name: /^Sign out of Chrome \d+ on Linux$/ })
      .first()
      .click();
    await page.getByText('Session signed out').waitFor();
    await page.getByRole('button', { name: 'Sign out everywhere else' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Sign out everywhere else' }).click();
    await page.getByText('1 session ended').waitFor();
    await elsewhere.reload();
    await heading(elsewhere, 'Sign in');
    await page.reload();
    await heading(page, 'Security');
    for (const each of [here, there, third]) await each.close();
  });

  it('change their password only with the current one', async () => {
    await addUser(system, 'change@example.com', password);
    const person = await newMember(chromium, system, { email: 'change@example.com', password });
    const page = await person.open('/settings/security');
    const save = () => page.getByRole('button', { name: 'Change password' }).click();
    await page.getByLabel('Current password').fill('wrong guess');
    await page.getByLabel('New password').fill('another good phrase');
    await save();
    await page.getByText('This is not your current password.').waitFor();
    await page.getByLabel('Current password').fill(password);
    await save();
    await page.getByText('Password set').waitFor();
    await (await newMember(chromium, system, { email: 'change@example.com', password: 'another good phrase' })).close();
    await person.close();
  });

  it('are asked to authenticate again if a change of their profile needs it, and the change is then made', async () => {
    const refusal = { code: 'failed_precondition', rule: 'reauthenticate', params: {}, message: '', field: null, request_id: 'req_1' };
    /** As if the user had no password, and had signed in more than 15 minutes ago. */
    const refuseOnce = (page: Page, path: string) =>
      page.route(path, (route) => route.fulfill({ status: 409, json: { error: refusal } }), { times: 1 });
    await addUser(system, 'again@example.com', password);
    const person = await newMember(chromium, system, { email: 'again@example.com', password });
    const page = await person.open('/settings/security');
    await page.getByLabel('Current password').fill(password);
    await page.getByLabel('New password').fill('another good phrase');
    await refuseOnce(page, '**/me/password');
    await page.getByRole('button', { name: 'Change password' }).click();
    const dialog = page.getByRole('dialog', { name: 'Confirm that it is you' });
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('Password set').waitFor();

    idp.person = { sub: 'again', email: 'again@example.com', email_verified: true, name: 'Again' };
    await page.getByRole('button', { name: 'Connect Acme ID' }).click();
    await page.getByRole('dialog').getByLabel('Current password').fill('another good phrase');
    await page.getByRole('dialog').getByRole('button', { name: 'Connect Acme ID' }).click();
    await page.getByRole('button', { name: 'Disconnect Acme ID' }).click();
    await refuseOnce(page, '**/me/identities/*');
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await dialog.getByLabel('Password').fill('another good phrase');
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Confirm' }).click();
    await page.getByText('Disconnected').waitFor();

    // Without a password and a second factor, they sign in again.
    idp.person = { sub: 'zoe', email: 'zoe@example.com', email_verified: true, name: 'Zoe' };
    const other = await nobody();
    const settings = await other.open('/settings');
    await settings.getByRole('link', { name: 'Sign in with Acme ID' }).click();
    await heading(settings, 'Settings');
    await settings.getByLabel('Email address').fill('zoe@elsewhere.example');
    await refuseOnce(settings, '**/console/api/me');
    await settings.getByRole('button', { name: 'Save' }).click();
    await settings.getByRole('dialog').getByText('ask the operator for a sign-in link').waitFor();
    await settings.getByRole('dialog').getByRole('button', { name: 'Sign in with Acme ID' }).click();
    await heading(settings, 'Settings');
    expect(new URL(settings.url()).pathname).toBe('/console/settings');
    expect([...person.faults, ...other.faults]).toEqual([]);
    await person.close();
    await other.close();
  });

  it('sign up with an account of their own', async () => {
    const person = await nobody();
    const page = await person.open('/sign-up');
    await page.getByLabel('Your name').fill('Nora');
    await page.getByLabel('Email address').fill(owner.email);
    await page.getByLabel('Name of the account').fill('Nora’s');
    await page.getByLabel('Password').fill(password);
    const send = () => page.getByRole('button', { name: 'Create account' }).click();
    await send();
    await page.getByText('This address cannot be used.').first().waitFor();
    await page.getByLabel('Email address').fill('nora@example.com');
    await send();
    await page.waitForURL(/\/console\/accounts\/acct_\w+$/);
    expect(page.url()).not.toContain(accountId);
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('sign in through the identity provider, and see why it does not admit them', async () => {
    idp.person = { sub: 'ivy', email: 'ivy@example.com', email_verified: false, name: 'Ivy' };
    const person = await nobody();
    const page = await person.open('/settings');
    await heading(page, 'Sign in');
    const enter = () => page.getByRole('link', { name: 'Sign in with Acme ID' }).click();
    await enter();
    await page.getByText('The provider did not confirm that your email address is verified.').waitFor();
    idp.person = { ...idp.person, email_verified: true };
    idp.fault = 'nonce';
    await enter();
    await page.getByText('The provider’s response could not be verified.').waitFor();
    idp.fault = undefined;
    await page.goto(`${system.baseUrl}/console/settings`);
    await enter();
    await heading(page, 'Settings');
    await expectSoon(async () => expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ivy'));
    await page.getByRole('link', { name: 'Password, second factor, sessions' }).click();
    await page.getByText('You have no password. You can sign in only with a link or a provider.').waitFor();
    // The only sign-in method cannot be removed.
    await page.getByRole('button', { name: 'Disconnect Acme ID' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByText('set a password first').waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('set up a second factor before they use an account that requires one', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Strict');
    const strict = { email: 'strict@example.com', password };
    await addUser(system, strict.email, password, '--name', 'Sue');
    for (const each of [id, accountId]) await system.cli('member', 'put', strict.email, '--role', 'owner', '--account', each);
    const person = await newMember(chromium, system, strict);
    const page = await person.open(`/accounts/${id}/members`);
    await page.getByRole('table', { name: 'Members' }).getByText('No second factor').waitFor();
    await page.getByRole('button', { name: 'Require for all members' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText(/^1 member has none/).waitFor();
    await dialog.getByText('You are one of them.').waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Require for all members' }).click();
    // The owner is a member without one too: the page of the account waits until they have one.
    await heading(page, 'Security');
    const notice = page.getByText('Required by: Strict.');
    await notice.waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const switcher = page.getByRole('navigation', { name: 'Console' }).getByLabel('Switch account');
    await switcher.selectOption({ label: 'Acme' });
    await page.waitForURL(`${system.baseUrl}/console${account}`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await switcher.selectOption({ label: 'Strict (second factor required)' });
    await notice.waitFor();

    await signOut(page);
    await page.getByLabel('Email address').fill(strict.email);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await notice.waitFor();
    await page.getByRole('button', { name: 'Set up an authenticator app' }).click();
    const secret = (await page.getByRole('dialog').locator('code').innerText()).replaceAll(' ', '');
    await page.getByLabel('Code from your authenticator app').fill(generateSync({ secret, epoch: Math.floor(Date.now() / 1000) }));
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await notice.waitFor({ state: 'detached' });
    await page.goto(`${system.baseUrl}/console/accounts/${id}/members`);
    await page.getByText('Required for all members.').waitFor();
    await expectSoon(async () => expect(await page.getByRole('table', { name: 'Members' }).getByText('No second factor').count()).toBe(0));
    await page.getByRole('button', { name: 'Make optional' }).click();
    await page.getByText('Optional. Each member decides.').waitFor();

    // From now on, the password is only the first step.
    await signOut(page);
    await page.getByLabel('Email address').fill(strict.email);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await heading(page, 'Second factor');
    await page.getByLabel('Code from your authenticator app').fill('000000');
    await page.keyboard.press('Enter');
    await page.getByText('This code is not valid. Enter the code that the app shows now.').waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Code from your authenticator app').fill(generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + 30 }));
    await page.keyboard.press('Enter');
    await page.getByRole('navigation', { name: 'Console' }).waitFor();
    await person.close();
  });

  it('connect the identity provider in their settings', async () => {
    await addUser(system, 'connect@example.com', password);
    const person = await newMember(chromium, system, { email: 'connect@example.com', password });
    idp.person = { sub: 'private', email: 'private@elsewhere.example', email_verified: true };
    const page = await person.open('/settings/security');
    await page.getByRole('button', { name: 'Connect Acme ID' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Current password').fill('wrong guess');
    await dialog.getByRole('button', { name: 'Connect Acme ID' }).click();
    await dialog.getByText('This is not your current password.').waitFor();
    await dialog.getByLabel('Current password').fill(password);
    await dialog.getByRole('button', { name: 'Connect Acme ID' }).click();
    await page.getByText('You can sign in with it from now on.').waitFor();
    await page.getByText('private@elsewhere.example').waitFor();
    await signOut(page);
    await page.getByRole('link', { name: 'Sign in with Acme ID' }).click();
    await heading(page, 'You are not a member of any account');
    expect(person.faults).toEqual([]);
    await person.close();
  });
});
