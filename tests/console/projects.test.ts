// Projects and budgets in a real browser: an owner creates a project, puts a key into it, and sees what is spent of its budgets.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Browser as Chromium } from 'playwright-core';
import { chat, createKey, settled } from '../support/clients/calls.js';
import { accessibilityFaults, expectSoon, newMember, type Person, popup, settledPage, startChromium } from '../support/clients/chromium.js';
import { addMember, addUser, password } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { browserModes, startSystem, type System } from '../support/systems/system.js';

const owner = { email: 'owner@example.com', password };
const developer = { email: 'developer@example.com', password };
const guest = { email: 'guest@example.com', password };

describe.each(browserModes)('projects in the console, %s', (mode) => {
  let system: System;
  let chromium: Chromium;
  let accountId: string;

  beforeAll(async () => {
    [system, chromium] = await Promise.all([startSystem(mode), startChromium()]);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await system.cli('balance', 'deposit', '5', '--account', accountId);
    for (const [{ email }, role] of [
      [owner, 'owner'],
      [developer, 'developer'],
    ] as const) {
      await addMember(system, accountId, email, role);
    }
  });

  afterAll(async () => {
    await chromium?.close();
    await system?.stop();
  });

  const people = new Map<string, Promise<Person>>();
  /** Returns the browser of a user, the same for all tests. */
  function signedIn(who: typeof owner): Promise<Person> {
    const person = people.get(who.email) ?? newMember(chromium, system, who);
    people.set(who.email, person);
    return person;
  }

  it('are created with a budget, hold keys, and show what is spent, held and left', async () => {
    const person = await signedIn(owner);
    const page = await person.show(`/accounts/${accountId}/projects`);
    await page.getByRole('link', { name: 'Default' }).waitFor();
    await page.getByRole('button', { name: 'Create project' }).click();
    const form = popup(page);
    await form.getByRole('button', { name: 'Add a budget' }).click();
    await form.getByLabel('Limit in USD').fill('nothing');
    await form.getByRole('button', { name: 'Create project' }).click();
    await form.getByText('Enter a name.').waitFor();
    await form.getByText('Enter an amount above 0, for example 25 or 0.5.').waitFor();
    await settledPage(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    await form.getByRole('group', { name: 'Permitted models' }).waitFor();
    await form.getByLabel('Name').fill('Search');
    await form.getByLabel('Limit in USD').fill('2');
    await form.getByLabel('Requests per minute').fill('600');
    await form.getByRole('button', { name: 'Create project' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Search' }).click();
    await page.getByText('Monthly budget').waitFor();
    await page.getByText('$0.00 of $2.00 spent').waitFor();

    await page.getByRole('link', { name: 'Create key' }).click();
    await popup(page).getByLabel('Name').fill('crawler');
    await popup(page).getByRole('button', { name: 'Create key' }).click();
    const secret = (await page.getByTestId('secret').textContent())!;
    await (await chat(system, secret)).text();
    await settled(system, accountId, 1);
    const projects = (await system.cli('project', 'list', '--account', accountId, '--json')).trim().split('\n');
    const { id } = JSON.parse(projects[1]!) as { id: string };

    const other = await person.show(`/accounts/${accountId}/projects/${id}`);
    await other.getByRole('link', { name: 'crawler' }).waitFor();
    await other.getByText(/^<?\$0\.000\d of \$2\.00 spent/).waitFor();
    await other.getByText(/^Resets /).waitFor();
    await settledPage(other);
    expect(await accessibilityFaults(other)).toEqual([]);
    await other.getByRole('link', { name: 'Show usage' }).click();
    await other.getByText('Project: Search').waitFor();

    const { secret: ofDefault } = await createKey(system, 'elsewhere', '--account', accountId);
    await (await chat(system, ofDefault)).text();
    await settled(system, accountId, 2);
    const statement = await person.show(`/accounts/${accountId}/billing/statements/${new Date().toISOString().slice(0, 7)}`);
    const byProject = statement.getByRole('table', { name: 'Charges by project' });
    for (const name of ['Search', 'Default']) await byProject.getByRole('row', { name: new RegExp(`^${name} 1 \\$0\\.00`) }).waitFor();

    const deletion = await person.show(`/accounts/${accountId}/projects/${id}`);
    await deletion.getByRole('button', { name: 'Delete' }).click();
    await popup(deletion).getByRole('button', { name: 'Delete' }).click();
    await popup(deletion).getByText('The project has keys that are not revoked.', { exact: false }).waitFor();
    expect(person.faults.filter((fault) => !fault.includes('400'))).toEqual([]);
  });

  it('share the budgets and the time zone of the account, which owners change', async () => {
    const person = await signedIn(owner);
    const page = await person.show(`/accounts/${accountId}/projects`);
    await page.getByRole('button', { name: 'Set a budget' }).click();
    const form = popup(page);
    // The field for an amount that it begins with is no budget while nothing is typed there.
    await form.getByLabel('Time zone').fill('Mars/Olympus');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('IANA', { exact: false }).waitFor();
    await form.getByLabel('Limit in USD').fill('100');
    await form.getByLabel('Only send alerts; do not refuse calls').check();
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('IANA', { exact: false }).waitFor();
    await form.getByLabel('Time zone').fill('Asia/Shanghai');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByText('Asia/Shanghai').waitFor();
    await page.getByText('Alerts only').first().waitFor();
    expect(await system.json('account', 'show', accountId)).toMatchObject({
      time_zone: 'Asia/Shanghai',
      budgets: [{ period: 'month', limit_usd: '100', soft: true, alert_at: [50, 80, 100] }],
    });
  });

  it('keep the time zone that another user sets while the budgets are edited', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'Zones');
    await system.cli('member', 'put', owner.email, '--role', 'owner', '--account', id);
    const person = await signedIn(owner);
    const page = await person.show(`/accounts/${id}/projects`);
    await page.getByRole('button', { name: 'Set a budget' }).click();
    const form = popup(page);
    await form.getByLabel('Limit in USD').fill('7');
    await person.context.request.patch(`console/api/accounts/${id}/budgets`, {
      data: { time_zone: 'Asia/Tokyo' },
      headers: { 'x-tollgate-console': '1' },
    });
    await page.getByText('Asia/Tokyo', { exact: true }).waitFor();
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect(await system.json('account', 'show', id)).toMatchObject({
      time_zone: 'Asia/Tokyo',
      budgets: [{ period: 'month', limit_usd: '7' }],
    });
    // Without changes, nothing is sent.
    await page.getByRole('button', { name: 'Edit budgets' }).click();
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    expect(person.faults).toEqual([]);
  });

  it('log prompts and answers once an owner turns it on, which records show as text, until the account forbids it', async () => {
    const person = await signedIn(owner);
    const projectId = accountId.replace('acct_', 'proj_');
    const page = await person.show(`/accounts/${accountId}/projects/${projectId}`);
    await page.getByText('Off: prompts and answers are not stored.').waitFor();
    await page.getByRole('button', { name: 'Change' }).click();
    const form = popup(page);
    await form.getByLabel('Log prompts and answers of this project').check();
    await form.getByLabel('Days to store').fill('31');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.getByText('Enter a number from 1 to 30.').waitFor();
    await settledPage(page);
    expect(await accessibilityFaults(page)).toEqual([]);
    await form.getByLabel('Days to store').fill('3');
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    await page.getByText('Stored for 3 days, encrypted').waitFor();

    const { secret } = await createKey(system, 'logged', '--account', accountId);
    const content = 'Say <img src=x onerror="document.title=1">';
    const requestId = await eventually(async () => {
      const response = await chat(system, secret, { messages: [{ role: 'user', content }] });
      await response.text();
      const id = response.headers.get('x-request-id')!;
      const usage = await fetch(`${system.baseUrl}/v1/usage/${id}`, { headers: { authorization: `Bearer ${secret}` } });
      return ((await usage.json()) as { prompt_log: string | null }).prompt_log === null ? undefined : id;
    });
    // An operator who is no member may neither read them nor have more of them logged.
    await addUser(system, 'operator@example.com', password, '--operator');
    const operator = await newMember(chromium, system, { email: 'operator@example.com', password });
    const foreign = await operator.open(`/accounts/${accountId}/usage/records/${requestId}`);
    await foreign.getByText('Developers, admins and owners can read them.').waitFor();
    expect(await foreign.getByRole('button', { name: 'Show prompt and answer' }).count()).toBe(0);
    await operator.close();
    const record = await person.show(`/accounts/${accountId}/usage/records/${requestId}`);
    await record.getByRole('button', { name: 'Show prompt and answer' }).click();
    const prompt = record.getByRole('region', { name: 'Prompt', exact: true });
    expect(JSON.parse((await prompt.textContent())!)).toMatchObject({ messages: [{ content }] });
    await expectSoon(async () =>
      expect(await record.getByRole('region', { name: 'Answer', exact: true }).textContent()).toContain('chat.completion'),
    );
    await settledPage(record);
    expect(await accessibilityFaults(record)).toEqual([]);
    const download = record.waitForEvent('download');
    await record.getByRole('button', { name: 'Download JSON' }).click();
    expect((await download).suggestedFilename()).toBe(`${requestId}.json`);
    await record.getByRole('button', { name: 'Delete now' }).click();
    await popup(record).getByRole('button', { name: 'Delete now' }).click();
    await prompt.waitFor({ state: 'detached' });
    const audit = await person.show(`/accounts/${accountId}/audit`);
    await audit.getByText('deleted a prompt and its answer').waitFor();
    await audit.getByText('read a prompt and its answer').waitFor();

    const all = await person.show(`/accounts/${accountId}/projects`);
    await all.getByRole('button', { name: 'Never log prompts and answers' }).click();
    await popup(all).getByRole('button', { name: 'Never log prompts and answers' }).click();
    await all.getByText('No project of this account logs prompts and answers.').waitFor();
    const again = await person.show(`/accounts/${accountId}/projects/${projectId}`);
    await again.getByText('Off: this account never logs prompts and answers.').waitFor();
    expect(person.faults).toEqual([]);
  });

  it('are shown to developers, who choose the project of their keys', async () => {
    const person = await signedIn(developer);
    const page = await person.show(`/accounts/${accountId}/projects`);
    await page.getByRole('link', { name: 'Search' }).waitFor();
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Create project' }).count()).toBe(0));
    await expectSoon(async () => expect(await page.getByRole('button', { name: 'Edit budgets' }).count()).toBe(0));
    const keys = await person.show(`/accounts/${accountId}/keys?create`);
    await popup(keys).getByLabel('Name').fill('notebook');
    await popup(keys).getByLabel('Project').selectOption({ label: 'Search' });
    await popup(keys).getByRole('button', { name: 'Create key' }).click();
    await keys.getByTestId('secret').waitFor();
    expect(await system.cli('key', 'list', '--account', accountId, '--json')).toContain('notebook');
    expect(person.faults).toEqual([]);
  });

  it('are all that a member sees to whom an owner gave a role in one of them', async () => {
    await addMember(system, accountId, guest.email, 'viewer');
    const boss = await signedIn(owner);
    const members = await boss.open(`/accounts/${accountId}/members`);
    await members.getByRole('button', { name: `Actions for ${guest.email}` }).click();
    await members.getByRole('menuitem', { name: 'Change role' }).click();
    await popup(members)
      .getByRole('radio', { name: /^member/ })
      .check();
    await popup(members).getByLabel('Search').selectOption('developer');
    await settledPage(members);
    expect(await accessibilityFaults(members)).toEqual([]);
    await popup(members).getByRole('button', { name: 'Change role' }).click();
    await members.getByText('Search: developer').waitFor();
    // The role is shown even if a change of the projects after it fails.
    await members.getByRole('button', { name: `Actions for ${guest.email}` }).click();
    await members.getByRole('menuitem', { name: 'Change role' }).click();
    await popup(members)
      .getByRole('radio', { name: /^billing/ })
      .check();
    await popup(members).getByLabel('Search').selectOption('viewer');
    await members.route('**/members/*/projects/*', (route) => route.abort());
    await popup(members).getByRole('button', { name: 'Change role' }).click();
    await popup(members).getByRole('alert').waitFor();
    await popup(members).getByRole('button', { name: 'Cancel' }).click();
    await members.getByRole('row').filter({ hasText: guest.email }).getByText('billing').waitFor();
    await members.close();
    await system.cli('member', 'put', guest.email, '--role', 'member', '--account', accountId);

    const person = await signedIn(guest);
    const page = await person.show('/');
    const places = page.getByRole('navigation').first().getByRole('link');
    await page.getByRole('heading', { level: 1 }).waitFor();
    for (const name of ['Billing', 'Members']) await expectSoon(async () => expect(await places.filter({ hasText: name }).count()).toBe(0));
    const projects = await person.show(`/accounts/${accountId}/projects`);
    await projects.getByRole('link', { name: 'Search' }).waitFor();
    await expectSoon(async () => expect(await projects.getByRole('link', { name: 'Default' }).count()).toBe(0));
    const keys = await person.show(`/accounts/${accountId}/keys?create`);
    await popup(keys).getByLabel('Name').fill('of a guest');
    await popup(keys).getByRole('button', { name: 'Create key' }).click();
    await keys.getByTestId('secret').waitFor();
    for (const path of ['billing', 'members', 'webhooks', 'management-keys']) {
      const forbidden = await person.show(`/accounts/${accountId}/${path}`);
      await forbidden.getByRole('heading', { level: 1, name: 'You do not have access to this page' }).waitFor();
      if (path === 'billing') expect(await accessibilityFaults(forbidden)).toEqual([]);
    }
    const usage = await person.show(`/accounts/${accountId}/usage`);
    await settledPage(usage);
    const created = await system.cli('key', 'list', '--account', accountId, '--json');
    expect(created.split('\n').find((line) => line.includes('of a guest'))).not.toContain(`"${accountId.replace('acct', 'proj')}"`);
    expect([...person.faults, ...boss.faults]).toEqual([]);
  });

  it('hold the keys of members who see the whole account, and change keys in one project only', async () => {
    await system.cli('member', 'put', guest.email, '--role', 'viewer', '--account', accountId);
    const person = await signedIn(guest);
    const keys = await person.show(`/accounts/${accountId}/keys?create`);
    await popup(keys).getByLabel('Name').fill('of a viewer');
    await popup(keys).getByRole('button', { name: 'Create key' }).click();
    await keys.getByTestId('secret').waitFor();
    const created = (await system.cli('key', 'list', '--account', accountId, '--json')).trim().split('\n');
    const projects = (await system.cli('project', 'list', '--account', accountId, '--json')).trim().split('\n');
    const { project_id } = JSON.parse(created.find((line) => line.includes('of a viewer'))!) as { project_id: string };
    expect(JSON.parse(projects.find((line) => line.includes(project_id))!)).toMatchObject({ name: 'Search' });
    expect(person.faults).toEqual([]);
  });

  it('can name a cheaper model, which their page shows', async () => {
    const person = await signedIn(owner);
    const page = await person.show(`/accounts/${accountId}/projects`);
    await page.getByRole('link', { name: 'Search' }).click();
    await page.getByRole('button', { name: 'Edit' }).click();
    await popup(page).locator('span').getByText('Permitted models', { exact: true }).waitFor();
    await popup(page).getByText('once the share of a budget that you set is spent').waitFor();
    await popup(page).getByLabel('Cheaper model').fill('sandbox/echo');
    await popup(page).getByLabel('From (%)').fill('75');
    await popup(page).getByRole('button', { name: 'Save' }).click();
    await page.getByText('sandbox/echo, once 75% of a budget is spent').waitFor();
    expect(person.faults).toEqual([]);
  });
});
