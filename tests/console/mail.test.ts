// What the console does at a public address and with mail, in the browser: invitations with their delivery state, password resets, and passkeys.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium } from 'playwright-core';
import {
  accessibilityFaults,
  expectSoon,
  newMember,
  newPerson,
  type Person,
  settledPage,
  startChromium,
} from '../support/clients/chromium.js';
import { addMember, addUser, password } from '../support/clients/console.js';
import { eventually, freePort } from '../support/systems/process.js';
import { type MailServer, startMailServer } from '../support/vendors/receivers.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const who = { email: 'owner@example.com', password };

describe.each(browserModes)('mail of the console, %s', (mode) => {
  let system: System;
  let mail: MailServer;
  let chromium: Chromium;
  let owner: Person;
  let members: string;
  let origin: string;

  beforeAll(async () => {
    mail = await startMailServer();
    const port = await freePort();
    origin = `http://localhost:${port}`;
    [system, chromium] = await Promise.all([
      startSystem(mode, {
        TOLLGATE_SMTP_URL: mail.url,
        TOLLGATE_SMTP_FROM: 'people@example.com',
        PORT: String(port),
        // The only address without TLS at which browsers use passkeys.
        TOLLGATE_GATEWAY_PUBLIC_URL: origin,
        TOLLGATE_AUTH_SIGN_UP: 'true',
        TOLLGATE_AUTH_NOTIFICATION_RETRY: '100ms',
        TOLLGATE_AUTH_NOTIFICATION_INTERVAL: '50ms',
      }),
      startChromium(),
    ]);
    const { id } = await system.json<{ id: string }>('account', 'create', 'Acme');
    members = `/accounts/${id}/members`;
    await addMember(system, id, who.email, 'owner');
    owner = await newMember(chromium, system, who);
  });

  afterAll(async () => {
    await owner?.close();
    await chromium?.close();
    await system?.stop();
    await mail?.stop();
  });

  it('shows that an invitation is being mailed, and its link as well', async () => {
    const page = await owner.show(members);
    await page.getByRole('button', { name: 'Invite member' }).click();
    await page.getByLabel('Email address').fill('vera@example.com');
    await page.getByRole('button', { name: 'Create invitation' }).click();
    await page.getByText('Emailed to vera@example.com.').waitFor();
    await expectSoon(async () => expect(await page.getByRole('region', { name: 'Invitation link' }).textContent()).toMatch(/#[\w-]{43}$/));
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'I have saved the link' }).click();
    const row = page.getByRole('table', { name: 'Pending invitations' }).getByRole('row', { name: /vera@example\.com/ });
    await row.getByText('Sent', { exact: true }).waitFor();
    expect(mail.mails).toHaveLength(1);
    expect(owner.faults).toEqual([]);
  });

  it('sets a new password with a mailed link, requested on the sign-in page', async () => {
    await addUser(system, 'forgetful@example.com', who.password);
    const person = await newPerson(chromium, system.baseUrl);
    const page = await person.show('/sign-in');
    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await page.getByLabel('Email address').fill('forgetful@example.com');
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Email me a link' }).click();
    await page.getByText('Check your email').waitFor();
    const raw = await eventually(() =>
      mail.mails
        .find(({ to }) => to.includes('forgetful@example.com'))
        ?.raw.replaceAll('=\r\n', '')
        .replaceAll('=3D', '='),
    );
    const [, token] = /console\/reset#([\w-]{43})/.exec(raw)!;
    const reset = await person.show(`/reset#${token}`);
    await reset.getByLabel('New password').fill('short');
    await reset.getByRole('button', { name: 'Set password' }).click();
    await reset.getByText('must have 10 to 1024 characters').waitFor();
    expect(await accessibilityFaults(reset)).toEqual([]);
    await reset.getByLabel('New password').fill('a phrase of their own');
    await reset.keyboard.press('Enter');
    await reset.getByText('Password set').waitFor();
    await reset.getByRole('heading', { level: 1, name: 'You are not a member of any account' }).waitFor();
    const again = await person.show(`/reset#${token}`);
    await again.getByLabel('New password').fill('a phrase of their own');
    await again.keyboard.press('Enter');
    await again.getByText('The link was already used').waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });

  it('changes the address of a user with the link that is emailed to the new one', async () => {
    const [before, email] = ['moves@example.com', 'moved@example.com'];
    await addUser(system, before, password);
    const person = await newMember(chromium, system, { email: before, password });
    const page = await person.show('/settings');
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Current password').fill(password);
    await page.getByRole('button', { name: 'Save' }).first().click();
    await page.getByText(`A link was sent to ${email}.`).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    const raw = await eventually(() => mail.mails.find((each) => each.to.includes(email))?.raw);
    const link = /\/console\/email#[^\s]+/.exec(raw.replaceAll('=\r\n', '').replaceAll('=3D', '='))![0];
    // From another page, as from a mail program.
    await page.goto('about:blank');
    await page.goto(system.baseUrl + link);
    await page.getByText(`You are signed in as ${before}.`).waitFor();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByText(`You sign in with ${email} from now on.`).waitFor();
    expect(await page.getByLabel('Email address').inputValue()).toBe(email);
    await page.goto('about:blank');
    await page.goto(system.baseUrl + link);
    await page.getByRole('button', { name: 'Change address' }).click();
    await page.getByText('The link was already used').waitFor();
    await person.close();
  });

  it('explains why a mail failed and what to do, and updates the state when a retry succeeds', async () => {
    mail.refused.set('nobody@example.com', { code: 550, words: '5.1.1 no such mailbox' });
    mail.refused.set('busy@example.com', { code: 451, words: '4.7.1 come back later' });
    const page = await owner.show(members);
    const invite = async (email: string): Promise<void> => {
      await page.getByRole('button', { name: 'Invite member' }).click();
      await page.getByLabel('Email address').fill(email);
      await page.getByRole('button', { name: 'Create invitation' }).click();
    };
    await invite('nobody@example.com');
    await page.getByText(/could not be sent .*no such mailbox.*Share this link instead/).waitFor();
    await page.getByRole('button', { name: 'I have saved the link' }).click();
    await page
      .getByRole('row', { name: /nobody@example\.com/ })
      .getByText('Failed', { exact: true })
      .waitFor();
    await invite('busy@example.com');
    await page.getByText('The email could not be sent yet (').waitFor();
    mail.refused.delete('busy@example.com');
    await page.getByRole('button', { name: 'I have saved the link' }).click();
    await page
      .getByRole('row', { name: /busy@example\.com/ })
      .getByText('Sent', { exact: true })
      .waitFor();
    await settledPage(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    await eventually(() => (mail.mails.some(({ to }) => to.includes('busy@example.com')) ? true : undefined));
  });

  it('finishes a sign-up with the emailed link and the password chosen at sign-up', async () => {
    const person = await newPerson(chromium, origin);
    const page = await person.show('/sign-up');
    const email = 'nora@example.com';
    await page.getByLabel('Your name').fill('Nora');
    await page.getByLabel('Email address').fill(email);
    await page.getByLabel('Name of the account').fill('Nora’s');
    await page.getByLabel('Password').fill(who.password);
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByText('Check your email').waitFor();
    const { raw } = await eventually(() => mail.mails.find(({ to }) => to.includes(email)));
    const [, link] = /console(\/sign-up#\S+)/.exec(raw.replaceAll('=\r\n', ''))!;
    const finish = await person.show(link!);
    expect(await accessibilityFaults(finish)).toEqual([]);
    const enter = async (text: string): Promise<void> => {
      await finish.getByLabel('Password').fill(text);
      await finish.getByRole('button', { name: 'Create account' }).click();
    };
    await enter('chosen by another client');
    await finish.getByText('This is not the password you chose at sign-up, or the link was used').waitFor();
    await enter(who.password);
    await finish.waitForURL(/\/console\/accounts\/acct_\w+$/);
    const again = await person.show(link!);
    await again.getByRole('link', { name: 'Sign up again' }).click();
    await again.getByLabel('Your name').waitFor();
    await person.close();
  });

  it('adds a passkey, which then works as the second step and as the only step, and is required for a password reset', async () => {
    const email = 'pat@example.com';
    await addUser(system, email, who.password);
    const person = await newMember(chromium, { baseUrl: origin }, { email, password: who.password });
    const page = await person.open('/settings/security');
    const cdp = await person.context.newCDPSession(page);
    await cdp.send('WebAuthn.enable');
    await cdp.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    });
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByLabel('Name', { exact: true }).fill('Laptop');
    await page.getByRole('button', { name: 'Create passkey' }).click();
    const codes = page.getByRole('list', { name: 'Recovery codes' }).getByRole('listitem');
    await codes.first().waitFor();
    await expectSoon(async () => expect(await codes.count()).toBe(10));
    const [first] = await codes.allTextContents();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'I have saved the codes' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Laptop' }).getByText('not used yet').waitFor();
    await eventually(() => mail.mails.find(({ to, raw }) => to.includes(email) && raw.includes('A second factor was added')));
    await page.getByRole('button', { name: 'Rename Laptop' }).click();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByLabel('Name', { exact: true }).fill('Work laptop');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('listitem').filter({ hasText: 'Work laptop' }).waitFor();
    await page.getByRole('button', { name: 'Add a passkey' }).click();
    await page.getByRole('button', { name: 'Create passkey' }).click();
    await page.getByText('This device already has a passkey of yours.').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();

    const signOut = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Settings' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    };
    const noAccount = page.getByRole('heading', { level: 1, name: 'You are not a member of any account' });
    const enterPassword = async (): Promise<void> => {
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password').fill(who.password);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Second factor' }).waitFor();
    };
    await signOut();
    await enterPassword();
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await noAccount.waitFor();

    await signOut();
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click();
    await noAccount.waitFor();

    await signOut();
    await enterPassword();
    await page.getByRole('button', { name: 'Use a recovery code' }).click();
    await page.getByLabel('Recovery code').fill(first!);
    await page.keyboard.press('Enter');
    await noAccount.waitFor();
    await signOut();

    await page.getByRole('link', { name: 'Forgot your password?' }).click();
    await page.getByLabel('Email address').fill(email);
    await page.getByRole('button', { name: 'Email me a link' }).click();
    const raw = await eventually(() => mail.mails.find((each) => each.to.includes(email) && each.raw.includes('/reset#'))?.raw);
    await page.goto(`${origin}/console/reset#${/reset#([\w-]{43})/.exec(raw.replaceAll('=\r\n', ''))![1]!}`);
    await page.getByLabel('New password').fill('a phrase of their own');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Use a passkey' }).click();
    await page.getByText('Password set').waitFor();
    expect(person.faults).toEqual([]);
    await person.close();
  });
});
