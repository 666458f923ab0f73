// How users sign up and sign in by themselves, also through an identity provider, and what is refused.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { generateSync } from 'otplib';
import { createKey } from '../support/clients/calls.js';
import { addMember, addUser, Browser, password, signedIn } from '../support/clients/console.js';
import { type Idp, type IdpFault, startIdp } from '../support/vendors/idp.js';
import { freePort } from '../support/systems/process.js';
import { allLogs, modes, startSystem, type System } from '../support/systems/system.js';

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';
/** What a browser sends with a navigation by a link of the console. */
const ownLink = { 'sec-fetch-site': 'same-origin' };

describe.each(modes)('signing up and in, %s', (mode) => {
  let idp: Idp;
  let system: System;
  let subjects = 0;

  beforeAll(async () => {
    idp = await startIdp();
    system = await startSystem(mode, {
      TOLLGATE_LOG_LEVEL: 'trace',
      TOLLGATE_AUTH_SIGN_UP: 'true',
      TOLLGATE_AUTH_OIDC_ISSUER: idp.issuer,
      TOLLGATE_AUTH_OIDC_CLIENT_ID: idp.clientId,
      TOLLGATE_AUTH_OIDC_CLIENT_SECRET: idp.clientSecret,
      TOLLGATE_AUTH_OIDC_NAME: 'Acme ID',
    });
    idp.redirectUris.add(`${system.baseUrl}/console/api/oidc/callback`);
  });

  beforeEach(() => {
    Object.assign(idp, { fault: undefined, tellsByUserinfo: false, sessionAgeS: 0 });
  });

  afterAll(async () => {
    await system?.stop();
    await idp?.stop();
  });

  const comeAs = (email: string, isVerified = true): string => {
    const sub = `sub-${(subjects += 1)}`;
    idp.person = { sub, email, email_verified: isVerified, name: 'Grace Hopper' };
    return sub;
  };
  const start = () => `${system.baseUrl}/console/api/oidc/start`;
  const page = (path: string) => `${system.baseUrl}/console/${path}`;
  const me = (browser: Browser) =>
    browser.get<{ user: { id: string; email: string; name: string }; accounts: { id: string; name: string; role: string }[] }>('/me');

  it('lists the ways to sign in', async () => {
    expect(await new Browser(system).get('/sign-in-options')).toEqual({
      sign_up: true,
      password_reset: false,
      passkey_origin: null,
      oidc: { name: 'Acme ID' },
    });
  });

  it('signs users up, each with an account that no other user sees', async () => {
    const browser = new Browser(system);
    const fields = { email: 'ada@example.com', name: 'Ada', password, account_name: 'Ada’s' };
    const { account_id: accountId } = await browser.must<{ account_id: string }>('POST', '/sign-up', fields, 201);
    expect(await me(browser)).toMatchObject({
      user: { email: 'ada@example.com', is_operator: false },
      accounts: [{ id: accountId, name: 'Ada’s', role: 'owner' }],
    });
    expect(await browser.get(`/accounts/${accountId}/balance`)).toMatchObject({ available_usd: '0' });
    expect(await browser.get(`/accounts/${accountId}/audit`)).toMatchObject({
      data: [{ action: 'account.sign_up', actor: 'ada@example.com' }],
    });
    expect(await new Browser(system).refusal('POST', '/sign-up', { ...fields, email: 'ADA@example.com' })).toEqual([409, 'already_exists']);
    const other = new Browser(system);
    await other.must('POST', '/sign-up', { ...fields, email: 'eve@example.com' }, 201);
    expect(await other.refusal('GET', `/accounts/${accountId}/balance`)).toEqual([404, 'not_found']);
    const response = await new Browser(system).ask('POST', '/sign-up', { ...fields, email: 'x@example.com', password: 'short' });
    expect([response.status, await response.json()]).toMatchObject([400, { error: { field: 'password' } }]);
  });

  it('denies members without a second factor access to an account that requires one, also in open sessions', async () => {
    const { id: accountId } = await system.json<{ id: string }>('account', 'create', 'Strict');
    const account = `/accounts/${accountId}`;
    const browsers = new Map<string, Browser>();
    for (const role of ['owner', 'admin', 'viewer']) {
      const email = `strict-${role}@example.com`;
      await addMember(system, accountId, email, role);
      browsers.set(role, new Browser(system));
      await browsers.get(role)!.signIn(email, password);
    }
    const [owner, admin, viewer] = ['owner', 'admin', 'viewer'].map((role) => browsers.get(role)!) as [Browser, Browser, Browser];
    const { enrolment, totp } = await owner.must<{ enrolment: string; totp: { secret: string } }>(
      'POST',
      '/me/second-factors/begin',
      { kind: 'totp' },
      200,
    );
    const code = generateSync({ secret: totp.secret, epoch: Math.floor(Date.now() / 1000) });
    await owner.must('POST', '/me/second-factors', { enrolment, name: 'Phone', totp_code: code }, 201);
    expect(await admin.refusal('PATCH', `${account}/security`, { require_second_factor: true })).toEqual([403, 'role_not_permitted']);
    const { secret } = await owner.must<{ secret: string }>(
      'POST',
      `${account}/management-keys`,
      { name: 'CI', scopes: ['keys:read'] },
      201,
    );
    expect(await owner.must('PATCH', `${account}/security`, { require_second_factor: true }, 200)).toEqual({ require_second_factor: true });

    expect(await owner.get(`${account}/security`)).toEqual({ require_second_factor: true });
    for (const path of ['keys', 'members', 'usage/export', 'balance', 'security'])
      expect(await viewer.refusal('GET', `${account}/${path}`)).toEqual([403, 'role_not_permitted']);
    const { error } = (await (await viewer.ask('GET', `${account}/keys`)).json()) as { error: { rule: string } };
    expect(error.rule).toBe('account_second_factor');
    expect(await viewer.get('/me')).toMatchObject({ accounts: [], second_factor_accounts: [{ id: accountId, name: 'Strict' }] });
    const key = await fetch(`${system.baseUrl}/console/api${account}/keys`, { headers: { authorization: `Bearer ${secret}` } });
    expect(key.status).toBe(200);
    await owner.must('PATCH', `${account}/security`, { require_second_factor: false }, 200);
    expect(await viewer.get('/me')).toMatchObject({ accounts: [{ id: accountId }], second_factor_accounts: [] });
  });

  it('requires a code of the authenticator app, accepts each code once, and requires none after the operator removed the app', async () => {
    const email = 'second@example.com';
    await addUser(system, email, password);
    const browser = new Browser(system, { 'user-agent': firefox });
    await browser.signIn(email, password);
    const begin = () =>
      browser.must<{ enrolment: string; totp: { secret: string } }>('POST', '/me/second-factors/begin', { kind: 'totp' }, 200);
    const { enrolment, totp } = await begin();
    // The code of the previous step, so that the present one can be used to sign in.
    const code = (stepsAhead: number) => generateSync({ secret: totp.secret, epoch: Math.floor(Date.now() / 1000) + stepsAhead * 30 });
    const factor = { enrolment, name: 'Phone', totp_code: code(-1) };
    const { recovery_codes: codes } = await browser.must<{ recovery_codes: string[] }>('POST', '/me/second-factors', factor, 201);
    expect(codes).toHaveLength(10);
    const [added] = (await browser.get<{ data: { id: string; name: string }[] }>('/me/second-factors')).data;
    expect(await browser.must('PATCH', `/me/second-factors/${added!.id}`, { name: 'Work phone' }, 200)).toMatchObject({
      name: 'Work phone',
    });
    expect(await browser.get('/me/second-factors')).toMatchObject({ data: [{ id: added!.id, name: 'Work phone' }] });
    expect(await browser.refusal('POST', '/me/second-factors/begin', { kind: 'passkey' })).toEqual([409, 'failed_precondition']);

    const asked = async (): Promise<string> => {
      const { second_factor: challenge } = await new Browser(system).must<{ second_factor: { token: string } }>(
        'POST',
        '/session',
        { email, password },
        202,
      );
      expect(challenge).toMatchObject({ totp: true, recovery_codes: true, passkey: null });
      return challenge.token;
    };
    const there = new Browser(system);
    const present = code(0);
    await there.must('POST', '/session/second-factor', { token: await asked(), totp_code: present }, 204);
    const refused = [401, 'sign_in_refused'];
    const finish = (body: object) => new Browser(system).refusal('POST', '/session/second-factor', body);
    expect(await finish({ token: await asked(), totp_code: present })).toEqual(refused);
    await new Browser(system).must('POST', '/session/second-factor', { token: await asked(), recovery_code: codes[0] }, 204);
    expect(await finish({ token: await asked(), recovery_code: codes[0] })).toEqual(refused);

    const { data: sessions } = await browser.get<{ data: { id: string; present: boolean; browser: string; system: string }[] }>(
      '/me/sessions',
    );
    expect(sessions.filter((session) => session.present)).toMatchObject([{ browser: 'Firefox 140', system: 'Windows' }]);
    expect(sessions).toHaveLength(3);
    expect(await browser.must('DELETE', '/me/sessions', undefined, 200)).toEqual({ ended: 2 });
    expect(await there.refusal('GET', '/me')).toEqual([401, 'session_unknown']);

    const token = await asked();
    for (let tries = 0; tries < 4; tries += 1) expect(await finish({ token, totp_code: '000000' })).toEqual(refused);
    expect(await finish({ token, totp_code: '000000' })).toEqual([429, 'sign_in_throttled']);
    expect(await system.json('user', 'second-factor', 'remove', email)).toMatchObject({ has_second_factor: false });
    await signedIn(system, email);
    expect(await browser.get('/me/second-factors')).toEqual({ data: [], recovery_codes_left: 0 });
  });

  it('rejects sign-ups from other sites, and limits their number', async () => {
    const fields = { email: 'ada@example.com', name: 'Ada', password, account_name: 'Ada’s' };
    expect((await new Browser(system).ask('POST', '/sign-up', fields, { 'x-tollgate-console': '' })).status).toBe(403);
    for (let attempt = 0; attempt < 10; attempt += 1) await (await new Browser(system).ask('POST', '/sign-up', fields)).body?.cancel();
    const response = await new Browser(system).ask('POST', '/sign-up', { ...fields, email: 'fresh@example.com' });
    expect([response.status, Number(response.headers.get('retry-after')) > 0]).toEqual([429, true]);
  });

  it('changes a user’s own name and address, and records it in the audit log', async () => {
    await addUser(system, 'before@example.com', password);
    const browser = await signedIn(system, 'before@example.com');
    expect(await browser.must('PATCH', '/me', { name: 'Ada King' }, 200)).toMatchObject({ name: 'Ada King', email: 'before@example.com' });
    // Without the password, an address in use is refused like a free one.
    for (const email of ['after@example.com', 'ada@example.com']) {
      expect(await browser.refusal('PATCH', '/me', { email })).toEqual([401, 'sign_in_refused']);
      expect(await browser.refusal('PATCH', '/me', { email, current_password: 'not the password' })).toEqual([401, 'sign_in_refused']);
    }
    expect(await browser.refusal('PATCH', '/me', { email: 'ada@example.com', current_password: password })).toEqual([
      409,
      'already_exists',
    ]);
    expect(await browser.must('PATCH', '/me', { email: 'after@example.com', current_password: password }, 200)).toMatchObject({
      email: 'after@example.com',
    });
    expect(await me(browser)).toMatchObject({ user: { name: 'Ada King', email: 'after@example.com' } });
    await signedIn(system, 'after@example.com');
  });

  describe('an identity provider', () => {
    it('signs up a new user with an account, and signs the same user in again', async () => {
      const sub = comeAs('grace@example.com');
      const browser = new Browser(system);
      expect(await browser.visit(`${start()}?to=usage/records?x=1`)).toBe(page('usage/records?x=1'));
      const { user, accounts } = await me(browser);
      expect([user, accounts]).toMatchObject([
        { email: 'grace@example.com', name: 'Grace Hopper', has_password: false },
        [{ name: 'Grace Hopper', role: 'owner' }],
      ]);
      idp.person = { sub, email: 'renamed@example.com', email_verified: false };
      const again = new Browser(system);
      expect(await again.visit(start())).toBe(page(''));
      expect((await me(again)).user.id).toBe(user.id);
      expect(idp.tokenRequests.at(-1)!.get('code_verifier')).toMatch(/^[\w-]{43,}$/);
    });

    it('ends the previous session of the browser, as every other way to sign in does', async () => {
      const email = 'again@example.com';
      await addUser(system, email, password);
      comeAs(email);
      const [browser, elsewhere] = [new Browser(system, ownLink), await signedIn(system, email)];
      const sessions = async (): Promise<number> => (await elsewhere.get<{ data: unknown[] }>('/me/sessions')).data.length;
      for (let time = 0; time < 2; time += 1) {
        await browser.signIn(email, password);
        expect(await sessions()).toBe(2);
        await browser.visit(start());
        expect(await sessions()).toBe(2);
      }
      // That of another user too.
      await addUser(system, 'again2@example.com', password);
      await browser.signIn('again2@example.com', password);
      expect(await sessions()).toBe(1);
    });

    it.each(['cross-site', 'same-site', 'none', undefined])(
      'keeps the session of a user whom no link of the console sent there: %s',
      async (site) => {
        const email = `kept-${site}@example.com`;
        await addUser(system, email, password);
        comeAs('attacker@example.com');
        const browser = await signedIn(system, email);
        const sent = await browser.ask('GET', '/oidc/start?to=usage', undefined, site === undefined ? {} : { 'sec-fetch-site': site });
        expect([sent.status, sent.headers.get('location'), sent.headers.getSetCookie()]).toEqual([303, '../../usage', []]);
        expect((await me(browser)).user.email).toBe(email);
      },
    );

    it('finds the user that the operator added, also if the address is only in the userinfo response', async () => {
      await addUser(system, 'staff@example.com', password);
      comeAs('Staff@Example.com');
      idp.tellsByUserinfo = true;
      const browser = new Browser(system);
      expect(await browser.visit(start())).toBe(page(''));
      expect(await me(browser)).toMatchObject({ user: { email: 'staff@example.com', has_password: true }, accounts: [] });
    });

    it.each<[IdpFault, string]>([
      ['state', 'expired'],
      ['nonce', 'provider'],
      ['audience', 'provider'],
      ['issuer', 'provider'],
      ['expired', 'provider'],
      ['signature', 'provider'],
      ['unsigned', 'provider'],
      ['no token', 'provider'],
      ['declined', 'declined'],
    ])('is not trusted when it sends wrong data: %s', async (fault, problem) => {
      comeAs('wrong@example.com');
      idp.fault = fault;
      const browser = new Browser(system);
      expect(await browser.visit(start())).toBe(page(`sign-in?problem=${problem}`));
      expect(await browser.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
    });

    it('is not trusted when the userinfo response is about another subject', async () => {
      comeAs('wrong@example.com');
      Object.assign(idp, { tellsByUserinfo: true, fault: 'other subject at userinfo' });
      expect(await new Browser(system).visit(start())).toBe(page('sign-in?problem=provider'));
    });

    it('matches a user by address only if the provider and Tollgate have verified the address', async () => {
      comeAs('unverified@example.com', false);
      expect(await new Browser(system).visit(start())).toBe(page('sign-in?problem=email_unverified'));
      // The user who signed up with this address may not be its owner.
      comeAs('eve@example.com');
      expect(await new Browser(system).visit(start())).toBe(page('sign-in?problem=email_taken'));
    });

    it('does not sign in a disabled user, by any method', async () => {
      await addUser(system, 'gone@example.com', password);
      comeAs('gone@example.com');
      const browser = new Browser(system);
      expect(await browser.visit(start())).toBe(page(''));
      await system.cli('user', 'disable', 'gone@example.com');
      expect(await browser.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
      expect(await new Browser(system).visit(start())).toBe(page('sign-in?problem=disabled'));
    });

    it('rejects a browser that did not start the sign-in, or that returns twice', async () => {
      comeAs('mallory@example.com');
      const [mallory, victim] = [new Browser(system), new Browser(system)];
      const location = (await mallory.ask('GET', '/oidc/start')).headers.get('location')!;
      const callback = (await fetch(location, { redirect: 'manual' })).headers.get('location')!;
      expect(await victim.visit(callback)).toBe(page('sign-in?problem=expired'));
      // The same while it has a sign-in of its own in progress, which continues.
      const own = (await victim.ask('GET', '/oidc/start')).headers.get('location')!;
      expect(await victim.visit(callback)).toBe(page('sign-in?problem=expired'));
      comeAs('victim@example.com');
      expect(await victim.visit(own)).toBe(page(''));
      expect(await mallory.visit(callback)).toBe(page(''));
      expect(await mallory.visit(callback)).toBe(page('sign-in?problem=expired'));
    });

    it('signs in from several tabs at once, of which a browser keeps the last five', async () => {
      comeAs('tabs@example.com');
      const browser = new Browser(system);
      const locations: string[] = [];
      for (let tab = 0; tab < 6; tab += 1) locations.push((await browser.ask('GET', '/oidc/start')).headers.get('location')!);
      expect(await browser.visit(locations[0]!)).toBe(page('sign-in?problem=expired'));
      for (const location of locations.slice(1)) expect(await browser.visit(location)).toBe(page(''));
    });

    it.each(['//evil.example', 'https://evil.example', '/\\evil.example', '../../../evil'])('does not redirect to %s', async (to) => {
      comeAs('grace2@example.com');
      idp.person = { ...idp.person, sub: 'grace2' };
      expect(await new Browser(system).visit(`${start()}?to=${encodeURIComponent(to)}`)).toBe(page(''));
    });

    it('keeps the state of a sign-in in a cookie that scripts cannot read', async () => {
      const response = await new Browser(system).ask('GET', '/oidc/start');
      expect(response.status).toBe(303);
      expect(response.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^tollgate_oidc_[\w-]{43}=[\w-]+; path=\/; expires=[^;]+; samesite=lax; httponly$/i),
      ]);
    });

    it('can be connected by a signed-in user with their password, and disconnected again', async () => {
      await addUser(system, 'connect@example.com', password);
      const browser = await signedIn(system, 'connect@example.com');
      const sub = comeAs('private@elsewhere.example');
      expect(await browser.refusal('POST', '/me/identities', {})).toEqual([401, 'sign_in_refused']);
      expect((await browser.ask('POST', '/me/identities', { current_password: password }, { 'x-tollgate-console': '' })).status).toBe(403);
      const { location } = await browser.must<{ location: string }>('POST', '/me/identities', { current_password: password }, 200);
      expect(await browser.visit(location)).toBe(page('settings/security?connected=1'));
      const { data } = await browser.get<{ data: { id: string; provider: string; email: string }[] }>('/me/identities');
      expect(data).toMatchObject([{ provider: 'Acme ID', email: 'private@elsewhere.example' }]);
      const byIdentity = new Browser(system);
      await byIdentity.visit(start());
      expect((await me(byIdentity)).user.email).toBe('connect@example.com');

      // An identity of another user stays with that user.
      await addUser(system, 'thief@example.com', password);
      const thief = await signedIn(system, 'thief@example.com');
      const again = await thief.must<{ location: string }>('POST', '/me/identities', { current_password: password }, 200);
      expect(await thief.visit(again.location)).toBe(page('settings/security?problem=identity_taken'));
      expect(idp.person.sub).toBe(sub);

      await browser.must('DELETE', `/me/identities/${data[0]!.id}`, undefined, 204);
      expect(await browser.get('/me/identities')).toEqual({ data: [] });
    });

    it('does not connect the identity to another user who signed in meanwhile', async () => {
      for (const name of ['one', 'two']) await addUser(system, `${name}@example.com`, password);
      const browser = await signedIn(system, 'one@example.com');
      const { location } = await browser.must<{ location: string }>('POST', '/me/identities', { current_password: password }, 200);
      await browser.signIn('two@example.com', password);
      comeAs('private2@elsewhere.example');
      expect(await browser.visit(location)).toBe(page('settings/security?problem=expired'));
      expect(await browser.get('/me/identities')).toEqual({ data: [] });
    });

    it('accepts a verified address whose claim is text, as Amazon Cognito and Apple send it, or is only in the userinfo response', async () => {
      idp.person = { sub: 'text', email: 'text@example.com', email_verified: 'true' };
      const browser = new Browser(system, ownLink);
      expect(await browser.visit(start())).toBe(page(''));
      comeAs('userinfo@example.com');
      idp.tellsByUserinfo = true;
      expect(await browser.visit(start())).toBe(page(''));
      idp.person = { sub: 'silent', email: 'silent@example.com' };
      expect(await browser.visit(start())).toBe(page('sign-in?problem=email_unverified'));
    });

    it('signs users in while the userinfo request fails, if the ID token has the address', async () => {
      comeAs('outage@example.com');
      expect(await new Browser(system).visit(start())).toBe(page(''));
      idp.person = { sub: idp.person.sub, email: 'outage@example.com' };
      idp.fault = 'no userinfo';
      expect(await new Browser(system).visit(start())).toBe(page(''));
      // Whether the address is verified is unknown.
      idp.person = { sub: 'outage', email: 'outage2@example.com' };
      expect(await new Browser(system).visit(start())).toBe(page('sign-in?problem=email_unverified'));
      idp.tellsByUserinfo = true;
      expect(await new Browser(system).visit(start())).toBe(page('sign-in?problem=service_unavailable'));
    });

    it('authenticates a user without a password again, but not by the session that the browser has there', async () => {
      const sub = comeAs('passwordless@example.com');
      idp.sessionAgeS = 3600;
      const browser = new Browser(system, ownLink);
      expect(await browser.visit(start())).toBe(page(''));
      const begin = () => browser.ask('POST', '/me/second-factors/begin', { kind: 'totp' });
      const status = async (): Promise<number> => (await begin()).status;
      const confirm = async (change: (location: string) => string = (location) => location): Promise<string> => {
        const { location } = await browser.must<{ location: string }>(
          'POST',
          '/me/reauthentication/oidc',
          { to: 'settings/security' },
          200,
        );
        return browser.visit(change(location));
      };
      const problem = (why: string) => page(`settings/security?unconfirmed=${why}`);
      expect(await status()).toBe(409);
      // The user at the screen can change the address of the provider.
      const unasked = (location: string): string => location.replace('&prompt=login&max_age=0', '&max_age=99999');
      expect(await confirm(unasked)).toBe(problem('not_reauthenticated'));
      idp.fault = 'no reauthentication';
      expect(await confirm()).toBe(problem('not_reauthenticated'));
      idp.fault = 'no auth_time';
      expect(await confirm()).toBe(problem('auth_time_missing'));
      expect(await status()).toBe(409);
      // Nor does another sign-in there count, if the provider does not say when it was.
      expect(await browser.visit(start())).toBe(page(''));
      expect(await status()).toBe(409);
      idp.fault = undefined;
      comeAs('someone.else@example.com');
      expect(await confirm()).toBe(problem('identity_other'));
      expect(await status()).toBe(409);
      idp.person = { sub };
      expect(await confirm()).toBe(page('settings/security'));
      expect(await status()).toBe(200);
    });

    it('leaves no code, token or secret in any log', () => {
      const text = allLogs(system);
      expect(text).toContain('/console/api/oidc/callback');
      expect(text).not.toContain(idp.clientSecret);
      for (const request of idp.tokenRequests) for (const name of ['code', 'code_verifier']) expect(text).not.toContain(request.get(name));
      expect(text).not.toContain(password);
    });
  });
});

describe('a gateway behind a proxy', () => {
  it('identifies clients by the address that the proxy saw, not by headers that they sent: for sign-ups, and for keys', async () => {
    const system = await startSystem('single', { TOLLGATE_AUTH_SIGN_UP: 'true', TOLLGATE_GATEWAY_TRUST_PROXY: 'true' });
    try {
      const signUp = async (index: number, client: string): Promise<number> => {
        const fields = { email: `p${index}@example.com`, name: 'P', password, account_name: 'P' };
        return (await new Browser(system).ask('POST', '/sign-up', fields, { 'x-forwarded-for': `198.51.100.${index}, ${client}` })).status;
      };
      const first: number[] = [];
      for (let index = 0; index < 11; index += 1) first.push(await signUp(index, '203.0.113.7'));
      expect(first).toEqual([...Array.from({ length: 10 }, () => 201), 429]);
      expect(await signUp(11, '203.0.113.8')).toBe(201);
      const { id } = await system.json<{ id: string }>('account', 'create', 'Fenced');
      const { secret } = await createKey(system, 'fenced', '--account', id, '--addresses', '203.0.113.0/24,2001:db8::/32');
      const called = async (from: string): Promise<number> =>
        (await fetch(`${system.baseUrl}/v1/models`, { headers: { 'x-api-key': secret, 'x-forwarded-for': from } })).status;
      expect(await called('203.0.113.7, 198.51.100.1')).toBe(403);
      expect(await called('198.51.100.1, 203.0.113.7')).toBe(200);
      expect(await called('2001:db8::1')).toBe(200);
      for (const withPort of ['203.0.113.7:51234', '[2001:db8::1]:51234', '[2001:db8::1]']) expect(await called(withPort)).toBe(200);
      expect(await called('198.51.100.1:51234')).toBe(403);
    } finally {
      await system.stop();
    }
  });
});

describe('a console with restricted sign-up', () => {
  let system: System;
  beforeAll(async () => {
    system = await startSystem('single', {
      TOLLGATE_AUTH_OIDC_ISSUER: `http://127.0.0.1:${await freePort()}`,
      TOLLGATE_AUTH_OIDC_CLIENT_ID: 'tollgate',
    });
  });
  afterAll(() => system?.stop());

  it('signs up no users unless sign-up is enabled', async () => {
    expect(await new Browser(system).get('/sign-in-options')).toMatchObject({ sign_up: false });
    expect(
      await new Browser(system).refusal('POST', '/sign-up', { email: 'ada@example.com', name: 'Ada', password, account_name: 'A' }),
    ).toEqual([404, 'not_found']);
  });

  it('works without its identity provider, and reports that the provider is unavailable', async () => {
    expect(await new Browser(system).visit(`${system.baseUrl}/console/api/oidc/start`)).toBe(
      `${system.baseUrl}/console/sign-in?problem=service_unavailable`,
    );
  });

  it('admits only known users when sign-up is disabled, and behind TLS restricts its cookies to TLS', async () => {
    const idp = await startIdp();
    const other = await startSystem('single', {
      TOLLGATE_AUTH_OIDC_ISSUER: idp.issuer,
      TOLLGATE_AUTH_OIDC_CLIENT_ID: idp.clientId,
      TOLLGATE_AUTH_OIDC_CLIENT_SECRET: idp.clientSecret,
      TOLLGATE_GATEWAY_TRUST_PROXY: 'true',
    });
    try {
      idp.redirectUris.add(`${other.baseUrl}/console/api/oidc/callback`);
      idp.person = { sub: 'new', email: 'new@example.com', email_verified: true };
      expect(await new Browser(other).visit(`${other.baseUrl}/console/api/oidc/start`)).toBe(
        `${other.baseUrl}/console/sign-in?problem=unknown_user`,
      );
      const proxied = await new Browser(other).ask('GET', '/oidc/start', undefined, {
        'x-forwarded-proto': 'https',
        // Not trusted: any client could have sent it.
        'x-forwarded-host': 'evil.example',
      });
      expect(new URL(proxied.headers.get('location')!).searchParams.get('redirect_uri')).toBe(
        `${other.baseUrl.replace('http:', 'https:')}/console/api/oidc/callback`,
      );
      expect(proxied.headers.getSetCookie()).toEqual([
        expect.stringMatching(/^__Host-tollgate_oidc_[\w-]{43}=[\w-]+; path=\/; expires=[^;]+; samesite=lax; secure; httponly$/i),
      ]);

      // The same for the session; a cookie that a neighbouring host or plain http has set under the other name is not read.
      await addUser(other, 'tess@example.com', password);
      const behindTls = { 'x-forwarded-proto': 'https' };
      const entered = await new Browser(other).ask('POST', '/session', { email: 'tess@example.com', password }, behindTls);
      const [cookie] = entered.headers.getSetCookie();
      expect(cookie).toMatch(/^__Host-tollgate_session=[\w-]{43}; path=\/; expires=[^;]+; samesite=lax; secure; httponly$/i);
      const own = cookie!.split(';')[0]!;
      const me = async (sent: string, headers: Record<string, string>) =>
        (await fetch(`${other.baseUrl}/console/api/me`, { headers: { ...headers, cookie: sent } })).status;
      const planted = own.replace('__Host-', '');
      expect([
        await me(own, behindTls),
        await me(planted, behindTls),
        await me(`${planted}; __Host-tollgate_session=x`, behindTls),
        await me(own, {}),
      ]).toEqual([200, 401, 401, 401]);

      // A browser that used the gateway without TLS has a cookie of the other name, which a new session replaces.
      const browser = new Browser(other);
      const enter = async (headers: Record<string, string>): Promise<string[]> =>
        (await browser.ask('POST', '/session', { email: 'tess@example.com', password }, headers)).headers.getSetCookie();
      const former = (await enter({}))[0]!.split(';')[0]!;
      expect(await me(former, {})).toBe(200);
      expect(await enter(behindTls)).toEqual([
        expect.stringMatching(/^__Host-tollgate_session=[\w-]{43};/),
        expect.stringMatching(/^tollgate_session=; path=\/; expires=Thu, 01 Jan 1970 00:00:00 GMT; samesite=lax; httponly$/i),
      ]);
      expect(await me(former, {})).toBe(401);
    } finally {
      await other.stop();
      await idp.stop();
    }
  });
});
