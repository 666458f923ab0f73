// Checks every page in both themes and at every width: no axe violation, no sideways scrolling, no logged errors; takes screenshots on request.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser } from 'playwright-core';
import {
  accessibilityFaults,
  follow,
  goTo,
  newMember,
  newPerson,
  type Page,
  type Person,
  screenshot,
  settledPage,
  showTheme,
  sidewaysScroll,
  startChromium,
} from '../support/clients/chromium.js';
import { startSystem, type System } from '../support/systems/system.js';
import { type SampleAccount, createSampleAccount } from './sample-account.js';

/** A page, and what to do before it is checked, for example open its main dialogs. */
interface View {
  readonly name: string;
  path(sample: SampleAccount): string;
  readonly who?: 'nobody';
  act?(page: Page, sample: SampleAccount): Promise<void>;
}

const ofAccount =
  (page: string) =>
  ({ accountId }: SampleAccount): string =>
    `/accounts/${accountId}${page}`;

// Grouped by area, with pages and dialogs.
const views: readonly View[] = [
  // The first one, which is loaded, because `follow` goes by way of it.
  { name: 'not-found', path: () => '/nowhere' },
  { name: 'menu', path: ofAccount(''), act: (page) => page.getByRole('button', { name: 'Settings' }).click() },
  { name: 'shortcuts', path: ofAccount('/keys'), act: (page) => page.keyboard.press('?') },
  {
    name: 'palette',
    path: ofAccount('/keys'),
    async act(page) {
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Go to' }).fill('echo');
      await page.getByRole('option', { name: 'sandbox/echo' }).waitFor();
    },
  },

  { name: 'sign-in', path: () => '/sign-in', who: 'nobody' },
  { name: 'sign-in-refused', path: () => '/sign-in?problem=email_taken', who: 'nobody' },
  { name: 'sign-up', path: () => '/sign-up', who: 'nobody' },
  {
    name: 'link',
    path: () => `/link#${'x'.repeat(43)}`,
    who: 'nobody',
    act: (page) => page.getByRole('button', { name: 'Sign in', exact: true }).click(),
  },
  { name: 'link-cut', path: () => '/link', who: 'nobody' },
  { name: 'forgot', path: () => '/forgot', who: 'nobody' },
  { name: 'reset', path: () => `/reset#${'x'.repeat(43)}`, who: 'nobody' },
  { name: 'reset-cut', path: () => '/reset', who: 'nobody' },
  { name: 'email', path: () => '/email#x' },
  { name: 'email-signed-out', path: () => '/email#x', who: 'nobody' },
  { name: 'email-cut', path: () => '/email', who: 'nobody' },
  { name: 'invitation', path: ({ invitationToken }) => `/invitation#${invitationToken}`, who: 'nobody' },
  { name: 'invitation-ended', path: () => `/invitation#${'x'.repeat(43)}`, who: 'nobody' },
  { name: 'settings', path: () => '/settings' },
  {
    name: 'security-connect',
    path: () => '/settings/security?problem=identity_taken',
    act: (page) => page.getByRole('button', { name: 'Connect Acme ID' }).click(),
  },
  {
    name: 'security-app',
    path: () => '/settings/security',
    act: (page) => page.getByRole('button', { name: 'Set up an authenticator app' }).click(),
  },
  { name: 'members', path: ofAccount('/members') },
  { name: 'members-role', path: ofAccount('/members'), act: changeRole },
  { name: 'members-invite', path: ofAccount('/members'), act: (page) => page.getByRole('button', { name: 'Invite member' }).click() },
  { name: 'members-link', path: ofAccount('/members'), act: inviteSomebody },
  { name: 'audit', path: ofAccount('/audit') },

  { name: 'home', path: ofAccount('') },
  { name: 'projects', path: ofAccount('/projects') },
  {
    name: 'projects-create',
    path: ofAccount('/projects'),
    async act(page) {
      await page.getByRole('button', { name: 'Create project' }).click();
      await page.getByRole('button', { name: 'Add a budget' }).click();
    },
  },
  { name: 'project', path: ({ accountId, projectId }) => `/accounts/${accountId}/projects/${projectId}` },
  {
    name: 'project-prompt-log',
    path: ({ accountId, projectId }) => `/accounts/${accountId}/projects/${projectId}`,
    act: (page) => page.getByRole('button', { name: 'Change' }).click(),
  },
  { name: 'keys', path: ofAccount('/keys') },
  {
    name: 'keys-menu',
    path: ofAccount('/keys'),
    act: (page) => page.getByRole('button', { name: 'Actions for production server' }).click(),
  },
  { name: 'keys-none-found', path: ofAccount('/keys?q=nothing+like+it') },
  { name: 'keys-create', path: ofAccount('/keys?create'), act: (page) => page.getByText('Limits', { exact: false }).first().click() },
  { name: 'management-keys', path: ofAccount('/management-keys') },
  {
    name: 'management-keys-create',
    path: ofAccount('/management-keys'),
    async act(page) {
      await page.getByRole('button', { name: 'Create management key' }).first().click();
      await page.getByRole('button', { name: 'Create management key' }).last().click();
      await page.getByText('Choose at least one scope.').waitFor();
    },
  },
  { name: 'key', path: ({ accountId, keyId }) => `/accounts/${accountId}/keys/${keyId}` },
  {
    name: 'key-edit',
    path: ({ accountId, keyId }) => `/accounts/${accountId}/keys/${keyId}?edit`,
    act: (page) => page.getByText('Selected models').click(),
  },
  {
    name: 'key-rotate',
    path: ({ accountId, keyId }) => `/accounts/${accountId}/keys/${keyId}`,
    act: (page) => page.getByRole('button', { name: 'Rotate secret' }).click(),
  },
  {
    name: 'key-revoke',
    path: ({ accountId, keyId }) => `/accounts/${accountId}/keys/${keyId}`,
    act: (page) => page.getByRole('button', { name: 'Revoke' }).click(),
  },
  { name: 'key-reveal', path: ofAccount('/keys?create'), act: reveal },

  { name: 'usage', path: ofAccount('/usage') },
  { name: 'records', path: ofAccount('/usage/records') },
  {
    name: 'usage-by-key',
    path: ofAccount('/usage?range=24h&group=key&measure=tokens'),
    act: (page) => page.getByText('Show as a table').click(),
  },
  { name: 'usage-none', path: ofAccount('/usage?model=nobody/none') },
  {
    name: 'records-filters',
    path: ofAccount('/usage/records?outcome=completed&model=sandbox/echo'),
    async act(page) {
      // On a phone, the range and the filters are folded away.
      const folded = page.getByRole('button', { name: 'Range and filters' });
      if (await folded.isVisible()) await folded.click();
      await page.getByRole('button', { name: 'Filters', exact: true }).click();
    },
  },
  { name: 'record-beside', path: ofAccount('/usage/records'), act: (page) => page.getByRole('table').getByRole('link').first().click() },
  { name: 'record', path: ({ accountId, requestId }) => `/accounts/${accountId}/usage/records/${requestId}` },
  {
    name: 'record-attempts',
    path: ({ accountId, thirdTimeId }) => `/accounts/${accountId}/usage/records/${thirdTimeId}`,
    act: (page) => page.getByRole('list', { name: 'Upstream attempts' }).scrollIntoViewIfNeeded(),
  },
  { name: 'refusals', path: ofAccount('/usage/refusals') },
  { name: 'refusals-none', path: ofAccount('/usage/refusals?reason=overloaded') },

  { name: 'billing', path: ofAccount('/billing') },
  { name: 'webhooks', path: ofAccount('/webhooks') },
  { name: 'billing-refused', path: ofAccount('/billing'), act: refuseCode },
  { name: 'statement', path: ofAccount(`/billing/statements/${new Date().toISOString().slice(0, 7)}`) },
  // The first journal entry of an account is its first deposit.
  {
    name: 'receipt',
    path: ({ accountId }) => `/accounts/${accountId}/billing/receipts/ent_${accountId.slice(-16)}${'1'.padStart(16, '0')}`,
  },

  { name: 'playground', path: ofAccount('/playground') },
  {
    name: 'playground-compared',
    path: ofAccount('/playground'),
    async act(page) {
      await page.getByLabel('Compare with a second model').check();
      await page.getByLabel('Model', { exact: true }).selectOption('sandbox/story');
      await page.getByLabel('Your message').fill('Which of you is the faster?');
      await page.keyboard.press('Enter');
      await page.locator('[data-answer=done]').nth(1).waitFor();
      await page.getByRole('link', { name: 'Usage record', exact: true }).nth(1).waitFor();
    },
  },

  { name: 'operator-accounts', path: () => '/operator/accounts' },
  { name: 'operator-account', path: ({ accountId }) => `/operator/accounts/${accountId}` },
  {
    name: 'operator-account-credit',
    path: ({ accountId }) => `/operator/accounts/${accountId}`,
    act: (page) => page.getByRole('button', { name: 'Credit' }).click(),
  },
  {
    name: 'operator-account-suspend',
    path: ({ accountId }) => `/operator/accounts/${accountId}`,
    act: (page) => page.getByRole('button', { name: 'Suspend' }).click(),
  },
  { name: 'operator-users', path: () => '/operator/users' },
  {
    name: 'operator-users-menu',
    path: () => '/operator/users',
    act: (page) => page.getByRole('button', { name: 'Actions for owner@example.com' }).click(),
  },
  { name: 'operator-users-add', path: () => '/operator/users', act: (page) => page.getByRole('button', { name: 'Add user' }).click() },
  { name: 'operator-callers', path: () => '/operator/callers' },
  { name: 'operator-audit', path: () => '/operator/audit' },
  { name: 'operator-health', path: () => '/operator/health' },
  { name: 'operator-models', path: () => '/operator/models' },
  {
    name: 'operator-model-new',
    path: () => '/operator/models?new=1',
    act: (page) => page.getByRole('dialog').getByLabel('Context limit (tokens)').waitFor(),
  },
  { name: 'operator-model', path: () => '/operator/models/sandbox/echo' },
  { name: 'operator-model-fields', path: () => '/operator/models/sandbox/echo?tab=fields' },
  {
    name: 'operator-model-price',
    path: () => '/operator/models/sandbox/tool',
    act: (page) => page.getByRole('button', { name: 'Change price' }).click(),
  },
  {
    name: 'operator-model-draft',
    path: () => '/operator/models/sandbox/story',
    act: (page) => page.getByText('Cost of typical calls').first().waitFor(),
  },
  {
    name: 'operator-model-publish',
    path: () => '/operator/models/sandbox/story',
    act: (page) => page.getByRole('button', { name: 'Publish…' }).click(),
  },
  { name: 'operator-upstreams', path: () => '/operator/upstreams' },
  {
    name: 'operator-upstream-add',
    path: () => '/operator/upstreams',
    act: (page) => page.getByRole('button', { name: 'Add upstream' }).click(),
  },
  {
    name: 'operator-upstream-test',
    path: () => '/operator/upstreams',
    async act(page) {
      await page.getByRole('button', { name: 'Test connection' }).first().click();
      await page.getByLabel('Also call a model').check();
    },
  },
  { name: 'operator-codes', path: () => '/operator/codes' },
  {
    name: 'operator-codes-make',
    path: () => '/operator/codes',
    act: (page) => page.getByRole('button', { name: 'Create codes' }).first().click(),
  },
  { name: 'operator-codes-made', path: () => '/operator/codes', act: makeCodes },
];

async function reveal(page: Page): Promise<void> {
  await page.getByLabel('Name').fill('just made');
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click();
  await page.getByText('Waiting for the first call').waitFor();
}

async function refuseCode(page: Page): Promise<void> {
  await page.getByLabel('Code').fill('TGC-00000-00000-00000-00000');
  await page.keyboard.press('Enter');
  await page.getByText('does not exist, has already been used').waitFor();
}

async function makeCodes(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Create codes' }).first().click();
  await page.getByLabel('Value in USD').fill('5');
  await page.getByLabel('Number of codes').fill('3');
  await page.getByRole('dialog').getByRole('button', { name: 'Create codes' }).click();
  await page.getByRole('dialog').locator('pre').waitFor();
}

async function changeRole(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Actions for dev@example.com' }).click();
  await page.getByRole('menuitem', { name: 'Change role' }).click();
}

async function inviteSomebody(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Invite member' }).click();
  await page.getByLabel('Email address').fill('another.colleague@example.com');
  await page.getByRole('button', { name: 'Create invitation' }).click();
  await page.getByRole('region', { name: 'Invitation link' }).waitFor();
}

const desktop = 1280;
const phone = 375;
/** Widths between them, at which the navigation is next to the page and leaves it little room. */
const widthsBetween = [1150, 1024, 800];
const themes = ['light', 'dark'] as const;

// Every page is loaded in a wide window, which is then made narrow. `make nightly` loads it in a narrow one as well.
describe.each(process.env['TOLLGATE_TEST_WIDTHS'] === 'all' ? [desktop, phone] : [desktop])(
  'every page of the console, loaded at %d px',
  (width) => {
    let system: System;
    let chromium: Browser;
    let sample: SampleAccount;
    let signedIn: Person;
    let nobody: Person;
    // One window per user, because opening a window takes as long as loading a page.
    const windows = new Map<Person, Page>();

    beforeAll(async () => {
      // Offers all sign-in methods. The identity provider does not exist, but is never called.
      system = await startSystem('single', {
        TOLLGATE_AUTH_SIGN_UP: 'true',
        TOLLGATE_AUTH_OIDC_ISSUER: 'http://127.0.0.1:9',
        TOLLGATE_AUTH_OIDC_CLIENT_ID: 'tollgate',
        TOLLGATE_AUTH_OIDC_NAME: 'Acme ID',
      });
      [chromium, sample] = await Promise.all([startChromium(), createSampleAccount(system)]);
      signedIn = await newMember(chromium, system, sample.owner, { width });
      nobody = await newPerson(chromium, system.baseUrl, { width });
      for (const person of [signedIn, nobody]) windows.set(person, await person.context.newPage());
    });

    afterAll(async () => {
      await chromium?.close();
      await system?.stop();
    });

    it.each(views.map((view) => [view.name, view] as const))('%s', async (name, view) => {
      const person = view.who === 'nobody' ? nobody : signedIn;
      const page = windows.get(person)!;
      // Not while the window still shows the previous page, which would be laid out and painted again.
      const widen = async (): Promise<void> => {
        await page.setViewportSize({ width, height: 800 });
        await showTheme(page, themes[0]);
      };
      if (person === nobody || page.url() === 'about:blank') {
        await page.goto('about:blank');
        await widen();
        await goTo(page, view.path(sample));
      } else {
        await follow(page, view.path(sample), widen);
      }
      await settledPage(page);
      if (view.act !== undefined) {
        await view.act(page, sample);
        await settledPage(page);
      }
      for (const theme of themes) {
        await showTheme(page, theme);
        await screenshot(page, `${name}-${theme}-${width}`);
        expect({ theme, faults: await accessibilityFaults(page, theme === themes[0] ? 'all' : 'colours') }).toEqual({ theme, faults: [] });
      }
      const narrower = [...widthsBetween, phone].filter((each) => each < width);
      expect({ width, scroll: await sidewaysScroll(page) }).toEqual({ width, scroll: 0 });
      for (const narrow of narrower) {
        await page.setViewportSize({ width: narrow, height: 800 });
        expect({ narrow, scroll: await sidewaysScroll(page) }).toEqual({ narrow, scroll: 0 });
      }
      if (narrower.length > 0) expect({ phone, faults: await accessibilityFaults(page, 'layout') }).toEqual({ phone, faults: [] });
      expect(person.faults).toEqual([]);
    });
  },
);
