// Invitations that are accepted at an identity provider whose addresses the operator trusts, where sign-up is closed.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { addMember, addUser, Browser, password, signedIn } from '../support/clients/console.js';
import { type Idp, startIdp } from '../support/vendors/idp.js';
import { allLogs, modes, startSystem, type System } from '../support/systems/system.js';

describe.each(modes)('an identity provider with trusted addresses, %s', (mode) => {
  let idp: Idp;
  let system: System;
  let owner: Browser;
  let accountId: string;
  const tokens: string[] = [];

  beforeAll(async () => {
    idp = await startIdp();
    system = await startSystem(mode, {
      TOLLGATE_LOG_LEVEL: 'trace',
      TOLLGATE_AUTH_OIDC_ISSUER: idp.issuer,
      TOLLGATE_AUTH_OIDC_CLIENT_ID: idp.clientId,
      TOLLGATE_AUTH_OIDC_CLIENT_SECRET: idp.clientSecret,
      TOLLGATE_AUTH_OIDC_TRUST_EMAIL: 'true',
    });
    idp.redirectUris.add(`${system.baseUrl}/console/api/oidc/callback`);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', 'Acme'));
    await addMember(system, accountId, 'owner@example.com', 'owner');
    owner = await signedIn(system, 'owner@example.com');
  });

  beforeEach(() => {
    Object.assign(idp, { fault: undefined, tellsByUserinfo: false });
  });

  afterAll(async () => {
    await system?.stop();
    await idp?.stop();
  });

  const page = (path: string) => `${system.baseUrl}/console/${path}`;
  const invite = async (email: string): Promise<string> => {
    const { token } = await owner.must<{ token: string }>('POST', `/accounts/${accountId}/invitations`, { email, role: 'developer' }, 201);
    tokens.push(token);
    return token;
  };
  const begin = async (browser: Browser, token: string): Promise<string> =>
    (await browser.must<{ location: string }>('POST', '/invitation/oidc', { token }, 200)).location;
  const me = (browser: Browser) => browser.get<{ user: { email: string }; accounts: { id: string; role: string }[] }>('/me');

  describe('signs in', () => {
    const visit = async (browser = new Browser(system)): Promise<string> => browser.visit(`${system.baseUrl}/console/api/oidc/start`);

    it.each([false, true])('a user whose address it does not call verified; in the userinfo response: %s', async (tellsByUserinfo) => {
      const email = `trusted-${tellsByUserinfo}@example.com`;
      await addUser(system, email, password);
      idp.person = { sub: email, email };
      idp.tellsByUserinfo = tellsByUserinfo;
      const browser = new Browser(system);
      expect(await visit(browser)).toBe(page(''));
      expect((await me(browser)).user.email).toBe(email);
    });

    it('no user whose address it calls unverified', async () => {
      await addUser(system, 'unverified@example.com', password);
      idp.person = { sub: 'unverified', email: 'unverified@example.com', email_verified: false };
      expect(await visit()).toBe(page('sign-in?problem=email_unverified'));
    });
  });

  it('admits a new user with an invitation, once', async () => {
    const token = await invite('Nora@example.com');
    idp.person = { sub: 'nora', email: 'nora@Example.com', name: 'Nora' };
    const browser = new Browser(system);
    expect(await browser.visit(`${system.baseUrl}/console/api/oidc/start`)).toBe(page('sign-in?problem=unknown_user'));
    const location = await begin(browser, token);
    expect(location).not.toContain(token);
    expect(await browser.visit(location)).toBe(page(`accounts/${accountId}`));
    expect(await me(browser)).toMatchObject({
      user: { email: 'nora@example.com', name: 'Nora', has_password: false },
      accounts: [{ id: accountId, role: 'developer' }],
    });
    expect(await new Browser(system).refusal('POST', '/invitation/oidc', { token })).toEqual([404, 'not_found']);
    const again = new Browser(system);
    expect(await again.visit(`${system.baseUrl}/console/api/oidc/start`)).toBe(page(''));
  });

  it('admits an existing user, whose session takes the place of the present one', async () => {
    await addUser(system, 'member@example.com', password);
    const token = await invite('member@example.com');
    idp.person = { sub: 'member', email: 'member@example.com', email_verified: true };
    await addUser(system, 'other@example.com', password);
    const browser = await signedIn(system, 'other@example.com');
    expect(await browser.visit(await begin(browser, token))).toBe(page(`accounts/${accountId}`));
    expect((await me(browser)).user.email).toBe('member@example.com');
  });

  it('keeps the session and the invitation when the user signed in there with another address', async () => {
    const token = await invite('wanted@example.com');
    const browser = await signedIn(system, 'owner@example.com');
    idp.person = { sub: 'unwanted', email: 'unwanted@example.com', email_verified: true };
    expect(await browser.visit(await begin(browser, token))).toBe(page(`invitation?problem=invitation_other#${token}`));
    idp.person = { sub: 'wanted', email: 'wanted@example.com', email_verified: false };
    expect(await browser.visit(await begin(browser, token))).toBe(page(`invitation?problem=email_unverified#${token}`));
    expect((await me(browser)).user.email).toBe('owner@example.com');
    expect(await browser.must('POST', '/invitation', { token }, 200)).toMatchObject({ email: 'wanted@example.com' });
  });

  it('rejects an invitation that was revoked in the meantime, or for which another site starts the sign-in', async () => {
    const token = await invite('late@example.com');
    const response = await new Browser(system).ask('POST', '/invitation/oidc', { token }, { 'x-tollgate-console': '' });
    expect(response.status).toBe(403);
    const browser = new Browser(system);
    const location = await begin(browser, token);
    const { data } = await owner.get<{ data: { id: string; email: string }[] }>(`/accounts/${accountId}/invitations`);
    await owner.must(
      'DELETE',
      `/accounts/${accountId}/invitations/${data.find(({ email }) => email === 'late@example.com')!.id}`,
      undefined,
      204,
    );
    idp.person = { sub: 'late', email: 'late@example.com', email_verified: true };
    expect(await browser.visit(location)).toBe(page(`invitation?problem=not_found#${token}`));
    expect(await browser.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
  });

  it('leaves no token of an invitation in any log', () => {
    const text = allLogs(system);
    expect(text).toContain('/console/api/oidc/callback');
    for (const token of tokens) expect(text).not.toContain(token);
  });
});
