// The operator's part of the console's API: accounts, money, users and the audit log.
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { chat } from '../support/clients/calls.js';
import { addMember, addUser, Browser, password, signedIn } from '../support/clients/console.js';
import { suspendLedger } from '../support/systems/ledger-unavailable.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface Posted {
  entry: { id: string; kind: string; effect_usd: string; reason: string; corrects_entry_id: string | null };
  balance: { available_usd: string };
  replayed: boolean;
}

interface AuditView {
  id: string;
  at: string;
  actor: string | null;
  actor_user_id: string | null;
  address: string | null;
  caller: string;
  account_id: string | null;
  action: string;
  target_id: string;
  detail: Record<string, unknown>;
  number: number;
  hash: string;
}

describe.each(modes)('the operator’s part of the console’s API, %s', (mode) => {
  let system: System;
  let operator: Browser;
  let accountId: string;
  let account: string;

  beforeAll(async () => {
    system = await startSystem(mode);
    await addUser(system, 'ops@example.com', password, '--operator');
    operator = await browserOf('ops@example.com');
    ({ id: accountId } = await operator.must<{ id: string }>('POST', '/operator/accounts', { name: 'Acme Ltd' }, 201));
    account = `/operator/accounts/${accountId}`;
  });

  afterAll(() => system?.stop());

  const browserOf = (email: string): Promise<Browser> => signedIn(system, email);
  const post = (path: string, body: object, idempotencyKey: string): Promise<Response> =>
    operator.ask('POST', `${account}${path}`, body, { 'idempotency-key': idempotencyKey });
  async function posted(path: string, body: object, idempotencyKey: string): Promise<Posted> {
    const response = await post(path, body, idempotencyKey);
    const text = await response.text();
    if (response.status > 201) throw new Error(`${path} was answered ${response.status}: ${text}`);
    return JSON.parse(text) as Posted;
  }
  async function refused(path: string, body: object, idempotencyKey: string): Promise<unknown> {
    const response = await post(path, body, idempotencyKey);
    return { status: response.status, ...((await response.json()) as { error: object }).error };
  }
  const audit = async (query = ''): Promise<AuditView[]> => (await operator.get<{ data: AuditView[] }>(`/operator/audit?${query}`)).data;
  /** The events once there are as many; those of other services reach auth a moment after the change. */
  const audited = (query: string, count: number): Promise<AuditView[]> =>
    eventually(async () => {
      const events = await audit(query);
      return events.length >= count ? events : undefined;
    });
  const available = async (): Promise<string> =>
    (await operator.get<{ balance: { available_usd: string } }>(account)).balance.available_usd;

  it('does not exist for users who are not operators', async () => {
    await addMember(system, accountId, 'owner@example.com', 'owner');
    const owner = await browserOf('owner@example.com');
    const asked: [string, string][] = [
      ['GET', '/operator/accounts'],
      ['POST', '/operator/accounts'],
      ['GET', account],
      ['PATCH', account],
      ['POST', `${account}/suspend`],
      ['POST', `${account}/resume`],
      ['POST', `${account}/credits`],
      ['POST', `${account}/debits`],
      ['POST', `${account}/entries/ent_1/reverse`],
      ['GET', '/operator/settings'],
      ['GET', '/operator/users'],
      ['POST', '/operator/users'],
      ['PATCH', '/operator/users/user_1'],
      ['POST', '/operator/users/user_1/link'],
      ['DELETE', '/operator/users/user_1/sessions'],
      ['GET', '/operator/audit'],
      ['GET', '/operator/audit/export'],
      ['POST', '/operator/audit/verify'],
      ['GET', '/operator/health'],
      ['POST', '/operator/health/ledger-check'],
    ];
    for (const [method, path] of asked) {
      expect([method, path, ...(await owner.refusal(method, path, method === 'GET' ? undefined : {}))]).toEqual([
        method,
        path,
        404,
        'not_found',
      ]);
      expect([method, path, ...(await new Browser(system).refusal(method, path, method === 'GET' ? undefined : {}))]).toEqual([
        method,
        path,
        401,
        'session_unknown',
      ]);
    }
  });

  it('finds accounts by name and id, with their money and keys', async () => {
    await operator.must('POST', '/operator/accounts', { name: 'Zoë' }, 201);
    const find = async (query: string) =>
      (await operator.get<{ data: { id: string; name: string }[] }>(`/operator/accounts?${query}`)).data;
    expect(await find('search=ACME')).toMatchObject([
      { id: accountId, name: 'Acme Ltd', state: 'active', balance: { available_usd: '0', held_usd: '0' }, keys: 0 },
    ]);
    expect(await find(`search=${accountId}`)).toMatchObject([{ name: 'Acme Ltd' }]);
    expect((await find('search=')).map(({ name }) => name).slice(0, 2)).toEqual(['Zoë', 'Acme Ltd']);
    expect(await find('state=suspended')).toEqual([]);
    expect(await operator.refusal('GET', '/operator/accounts?state=x')).toEqual([400, 'invalid_request']);
    expect(await operator.must('PATCH', account, { name: 'Acme Inc' }, 200)).toMatchObject({ name: 'Acme Inc' });
    expect((await audit('action=account.rename'))[0]).toMatchObject({
      actor: 'ops@example.com',
      account_id: accountId,
      detail: { before: { name: 'Acme Ltd' }, after: { name: 'Acme Inc' } },
    });
    expect(await operator.refusal('GET', '/operator/accounts/acct_00000000000070008000000000000000')).toEqual([404, 'not_found']);
  });

  it('finds and shows accounts without their money while the ledger is unavailable', async () => {
    const { id } = await operator.must<{ id: string }>('POST', '/operator/accounts', { name: 'Far away' }, 201);
    const one = `/operator/accounts/${id}`;
    const credit = async (): Promise<number> =>
      (
        await operator.ask(
          'POST',
          `${one}/credits`,
          { amount_usd: '5', source: 'cash', reason: 'early' },
          { 'idempotency-key': 'while away' },
        )
      ).status;
    const back = suspendLedger(system);
    try {
      const { data } = await operator.get<{ data: object[] }>('/operator/accounts?search=FAR');
      expect(data).toMatchObject([{ id, name: 'Far away', state: 'active', balance: null, keys: 0 }]);
      expect(await operator.get(one)).toMatchObject({ name: 'Far away', balance: null, keys: 0, last_call: null, away: ['ledger'] });
      expect(await credit()).toBeGreaterThanOrEqual(500);
      expect(await operator.must('POST', `${one}/suspend`, { reason: 'unpaid' }, 200)).toMatchObject({ state: 'suspended' });
    } finally {
      back();
    }
    await eventually(async () => ((await operator.get<{ away: string[] }>(one)).away.length === 0 ? true : undefined));
    // A ledger that was only slow may have booked the credit; a retry with the same key does not book it again.
    expect([200, 201]).toContain(await credit());
    expect(await operator.get(one)).toMatchObject({ state: 'suspended', balance: { available_usd: '5' }, away: [] });
    await operator.must('POST', `${one}/resume`, {}, 200);
  });

  it('credits once per idempotency key, even for many concurrent requests', async () => {
    const body = { amount_usd: '20', source: 'cash', reason: 'invoice 7', reference: 'INV-7' };
    const answers = await Promise.all(Array.from({ length: 8 }, () => posted('/credits', body, 'credit 1')));
    expect(new Set(answers.map(({ entry }) => entry.id)).size).toBe(1);
    expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect(await posted('/credits', body, 'credit 1')).toMatchObject({
      replayed: true,
      entry: { kind: 'deposit', reason: 'invoice 7 (INV-7)', effect_usd: '20' },
    });
    expect(await available()).toBe('20');
    expect(await refused('/credits', { ...body, amount_usd: '21' }, 'credit 1')).toMatchObject({
      status: 409,
      code: 'idempotency_mismatch',
    });
    expect(await refused('/credits', body, '')).toMatchObject({ status: 400, field: 'idempotency-key' });
    expect(await refused('/credits', { ...body, reason: '' }, 'credit 2')).toMatchObject({ status: 400, field: 'reason' });
    expect(await refused('/credits', { ...body, amount_usd: '0' }, 'credit 2')).toMatchObject({ status: 400, field: 'amount_usd' });
    for (const amount_usd of ['0.0000000001', '20000000000', '-1', '1e3'])
      expect(await refused('/credits', { ...body, amount_usd }, 'credit 2')).toMatchObject({ status: 400, field: 'amount_usd' });
    expect(await available()).toBe('20');
    // One change, one event in the log.
    expect(await audited(`action=account.credit&account=${accountId}`, 1)).toMatchObject([
      {
        actor: 'ops@example.com',
        detail: {
          amount_usd: '20',
          source: 'cash',
          reason: 'invoice 7 (INV-7)',
          before: { available_usd: '0' },
          after: { available_usd: '20' },
        },
      },
    ]);
  });

  it('requires large amounts to be confirmed', async () => {
    expect(await operator.get('/operator/settings')).toEqual({ confirm_above_usd: '100' });
    const body = { amount_usd: '100.000000001', source: 'promotion', reason: 'a gift' };
    expect(await refused('/credits', body, 'large')).toMatchObject({ status: 400, field: 'confirm_amount_usd' });
    expect(await refused('/credits', { ...body, confirm_amount_usd: '100' }, 'large')).toMatchObject({
      status: 400,
      field: 'confirm_amount_usd',
    });
    expect(await posted('/credits', { ...body, confirm_amount_usd: '100.000000001' }, 'large')).toMatchObject({
      balance: { available_usd: '120.000000001' },
    });
    const { id } = (await posted('/credits', { amount_usd: '100', source: 'correction', reason: 'exactly as much' }, 'not large')).entry;
    expect(await posted(`/entries/${id}/reverse`, { reason: 'no' }, '')).toMatchObject({ balance: { available_usd: '120.000000001' } });
  });

  it('names the field of an amount that the ledger could not book', async () => {
    for (const amount_usd of ['1000000000.000000001', '9999999999']) {
      const amount = { amount_usd, confirm_amount_usd: amount_usd, reason: 'too much' };
      for (const [path, body] of [
        ['/credits', { ...amount, source: 'cash' }],
        ['/credits', { ...amount, source: 'correction' }],
        ['/debits', amount],
      ] as const)
        expect(await refused(path, body, amount_usd)).toMatchObject({ status: 400, field: 'amount_usd' });
      const codes = await operator.ask('POST', '/operator/codes', { amount_usd, confirm_amount_usd: amount_usd });
      expect([codes.status, await codes.json()]).toMatchObject([
        400,
        { error: { code: 'invalid_request', field: 'amount_usd', message: expect.stringContaining('must be at most 1,000,000,000') } },
      ]);
    }
  });

  it('debits, never below zero', async () => {
    expect(
      await posted('/debits', { amount_usd: '100.000000001', reason: 'no gift', confirm_amount_usd: '100.000000001' }, 'debit 1'),
    ).toMatchObject({ balance: { available_usd: '20' }, entry: { kind: 'adjustment', effect_usd: '-100.000000001' } });
    expect(await refused('/debits', { amount_usd: '20.000000001', reason: 'too much' }, 'debit 2')).toMatchObject({
      status: 409,
      code: 'balance_empty',
      message: 'This would remove $20.000000001 from the balance, but only $20 is available.',
    });
    expect(await available()).toBe('20');
  });

  it('reverses an entry once, by the opposite entry linked to it', async () => {
    const { entry } = await posted('/credits', { amount_usd: '3', source: 'cash', reason: 'for another account' }, 'to be reversed');
    const reversals = await Promise.all(
      Array.from({ length: 4 }, () => posted(`/entries/${entry.id}/reverse`, { reason: 'entered for the wrong account' }, '')),
    );
    expect(new Set(reversals.map((each) => each.entry.id)).size).toBe(1);
    expect(reversals[0]).toMatchObject({ entry: { kind: 'adjustment', effect_usd: '-3', corrects_entry_id: entry.id } });
    expect(await available()).toBe('20');
    expect(await refused(`/entries/${entry.id}/reverse`, { reason: 'for another reason' }, '')).toMatchObject({
      code: 'idempotency_mismatch',
      message: expect.stringMatching(/^Entry no\. \d+ was already reversed by entry no\. \d+\. Nothing was changed\.$/),
    });
    expect(await operator.get(`${account}/entries/${entry.id}`)).toMatchObject({
      entry: { id: entry.id },
      corrections: [{ id: reversals[0]!.entry.id }],
      reversible_usd: '0',
    });
    expect(await operator.get(`/accounts/${accountId}/receipts/${entry.id}`)).toMatchObject({
      amount_usd: '3',
      corrections: [{ id: reversals[0]!.entry.id, effect_usd: '-3' }],
    });
    const month = new Date().toISOString().slice(0, 7);
    const csv = await (await operator.ask('GET', `/accounts/${accountId}/statements/${month}?format=csv`)).text();
    const lines = csv.trimEnd().split('\r\n');
    expect(lines[0]).toMatch(/,entry_id,corrects_entry_id$/);
    expect(lines).toContainEqual(expect.stringMatching(new RegExp(`,${reversals[0]!.entry.id},${entry.id}$`)));
    expect(await refused('/entries/ent_00000000000000000000000000000000/reverse', { reason: 'x' }, '')).toMatchObject({ status: 404 });
    expect(await audited('action=account.reverse', 2)).toMatchObject([
      { detail: { reversed_entry_id: entry.id, reason: 'entered for the wrong account' } },
      { detail: { reason: 'no' } },
    ]);
    const by = await system.tryCli('balance', 'reverse', entry.id, '--account', accountId, '--reason', 'entered for the wrong account');
    expect(by.stdout).toContain('had already been booked');
    expect(await available()).toBe('20');
    // Once the reversal is itself reversed, the entry can be reversed again, also once.
    await posted(`/entries/${reversals[0]!.entry.id}/reverse`, { reason: 'it was the account' }, '');
    expect(await available()).toBe('23');
    const again = await Promise.all(
      Array.from({ length: 4 }, () => posted(`/entries/${entry.id}/reverse`, { reason: 'entered for the wrong account' }, '')),
    );
    expect(new Set(again.map((each) => each.entry.id)).size).toBe(1);
    expect(await available()).toBe('20');
  });

  it('suspends an account, whose calls are then refused with the reason, and resumes it', async () => {
    const { secret } = await operator.must<{ secret: string }>('POST', `/accounts/${accountId}/keys`, { name: 'server' }, 201);
    expect((await chat(system, secret)).status).toBe(200);
    expect(await operator.refusal('POST', `${account}/suspend`, {})).toEqual([400, 'invalid_request']);
    expect(await operator.must('POST', `${account}/suspend`, { reason: 'invoice 7 is unpaid' }, 200)).toMatchObject({
      state: 'suspended',
      state_reason: 'invoice 7 is unpaid',
    });
    const refusal = await eventually(async () => {
      const response = await chat(system, secret);
      return response.status === 403 ? ((await response.json()) as { error: { code: string; message: string } }) : undefined;
    });
    expect(refusal.error).toMatchObject({ code: 'account_suspended', message: expect.stringContaining('invoice 7 is unpaid') });
    expect((await operator.get<{ data: object[] }>('/operator/accounts?state=suspended')).data).toMatchObject([{ id: accountId, keys: 1 }]);
    await operator.must('POST', `${account}/resume`, { reason: 'paid' }, 200);
    await eventually(async () => ((await chat(system, secret)).status === 200 ? true : undefined));
    expect(await audit(`account=${accountId}&action=account.suspend`)).toMatchObject([
      {
        actor: 'ops@example.com',
        detail: {
          reason: 'invoice 7 is unpaid',
          before: { state: 'active' },
          after: { state: 'suspended', state_reason: 'invoice 7 is unpaid' },
        },
      },
    ]);
    expect(await operator.get(account)).toMatchObject({
      state: 'active',
      state_reason: null,
      keys: 1,
      last_call: { request_id: expect.stringMatching(/^req_/) },
    });
  });

  it('adds users, with a link that is shown once, and changes them', async () => {
    const { user, link } = await operator.must<{ user: { id: string }; link: { url: string } }>(
      'POST',
      '/operator/users',
      { email: 'New@Example.com', name: 'New' },
      201,
    );
    expect(user).toMatchObject({ email: 'new@example.com', is_operator: false, is_disabled: false, has_password: false });
    const token = new URL(link.url).hash.slice(1);
    const browser = new Browser(system);
    await browser.must('POST', '/session/link', { token }, 204);
    expect(JSON.stringify(await audit('action=user'))).not.toContain(token);
    expect((await operator.get<{ data: object[] }>('/operator/users?search=NEW@')).data).toMatchObject([{ id: user.id }]);
    expect(await operator.must('DELETE', `/operator/users/${user.id}/sessions`, undefined, 200)).toEqual({ ended: 1 });
    expect(await browser.refusal('GET', '/me')).toEqual([401, 'session_unknown']);
    expect(await operator.must('PATCH', `/operator/users/${user.id}`, { is_operator: true }, 200)).toMatchObject({ is_operator: true });
    expect((await audit(`target=${user.id}&action=user.update`))[0]).toMatchObject({
      detail: { before: { is_operator: false }, after: { is_operator: true } },
    });
    expect(await operator.must('PATCH', `/operator/users/${user.id}`, { is_disabled: true }, 200)).toMatchObject({ is_disabled: true });
    const again = await operator.must<{ url: string }>('POST', `/operator/users/${user.id}/link`, {}, 200);
    expect(await new Browser(system).refusal('POST', '/session/link', { token: new URL(again.url).hash.slice(1) })).toEqual([
      401,
      'sign_in_refused',
    ]);
    const withPassword = await operator.must<{ link: null }>('POST', '/operator/users', { email: 'pw@example.com', password }, 201);
    expect(withPassword.link).toBeNull();
    await browserOf('pw@example.com');
    expect(await operator.refusal('POST', '/operator/users', { email: 'pw@example.com' })).toEqual([409, 'already_exists']);
    expect(await operator.refusal('PATCH', '/operator/users/user_00000000000070008000000000000000', { name: 'x' })).toEqual([
      404,
      'not_found',
    ]);
  });

  it('keeps an operator who can sign in', async () => {
    const { data } = await operator.get<{ data: { id: string; email: string; is_operator: boolean; is_disabled: boolean }[] }>(
      '/operator/users',
    );
    const self = data.find(({ email }) => email === 'ops@example.com')!;
    for (const other of data.filter((each) => each.is_operator && !each.is_disabled && each.id !== self.id))
      await operator.must('PATCH', `/operator/users/${other.id}`, { is_operator: false }, 200);
    expect(await operator.refusal('PATCH', `/operator/users/${self.id}`, { is_operator: false })).toEqual([409, 'failed_precondition']);
    expect(await operator.refusal('PATCH', `/operator/users/${self.id}`, { is_disabled: true })).toEqual([409, 'failed_precondition']);
  });

  it('also logs what the operator’s command did', async () => {
    const { id } = await system.json<{ id: string }>('account', 'create', 'By command');
    await system.cli('account', 'rename', id, 'Renamed');
    await system.cli('balance', 'deposit', '2', '--account', id, '--reason', 'cash', '--reference', 'R-1');
    await system.cli('balance', 'adjust', '-1', '--account', id, '--reason', 'too much');
    await system.cli('account', 'suspend', id, '--reason', 'why not');
    const key = await system.json<{ id: string; secret: string }>('key', 'create', '--name', 'cli', '--account', id);
    const entries = await audited(`account=${id}`, 6);
    expect(entries.map(({ action, actor }) => [action, actor])).toEqual(
      ['key.create', 'account.suspend', 'account.debit', 'account.credit', 'account.rename', 'account.create'].map((action) => [
        action,
        'operator CLI',
      ]),
    );
    expect(entries[3]).toMatchObject({ detail: { amount_usd: '2', reason: 'cash (R-1)', after: { available_usd: '2' } } });
    expect(entries[4]).toMatchObject({ detail: { before: { name: 'By command' }, after: { name: 'Renamed' } } });
    expect(JSON.stringify(entries)).not.toContain(key.secret);
    expect((await audit('actor=operator%20cli')).length).toBeGreaterThanOrEqual(6);
    const listed = (await system.cli('audit', 'list', '--account', id, '--action', 'account', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { action: string });
    expect(listed.map(({ action }) => action)).toEqual([
      'account.suspend',
      'account.debit',
      'account.credit',
      'account.rename',
      'account.create',
    ]);
  });

  it('exports the filtered log in a form with which the chain can be verified', async () => {
    const jsonl = await (await operator.ask('GET', '/operator/audit/export?format=jsonl')).text();
    const entries = jsonl
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as AuditView)
      // The list is in the order of time; the chain is in the order in which events reached auth.
      .toSorted((a, b) => a.number - b.number);
    let before: Uint8Array = Buffer.alloc(32);
    for (const entry of entries) {
      const fields = [
        String(entry.number),
        entry.id,
        String(Date.parse(entry.at)),
        entry.actor_user_id ?? '',
        entry.actor ?? '',
        entry.address ?? '',
        entry.caller,
        entry.account_id ?? '',
        entry.action,
        entry.target_id,
        JSON.stringify(entry.detail),
      ];
      const hash = createHash('sha256').update(before).update(JSON.stringify(fields)).digest();
      expect([entry.number, entry.hash]).toEqual([entry.number, hash.toString('hex')]);
      before = hash;
    }
    const csv = await operator.ask('GET', `/operator/audit/export?account=${accountId}&action=account.suspend`);
    expect(csv.headers.get('content-disposition')).toBe('attachment; filename="audit.csv"');
    const lines = (await csv.text()).trim().split('\r\n');
    expect(lines[0]).toBe('at,number,actor,actor_user_id,address,caller,account_id,action,target_id,detail,id,hash');
    expect(lines).toHaveLength(2);
    expect(await operator.refusal('GET', '/operator/audit/export?format=xml')).toEqual([400, 'invalid_request']);
    const last = entries.at(-1)!;
    expect(await operator.must('POST', '/operator/audit/verify', { number: last.number, hash: last.hash }, 200)).toMatchObject({
      ok: true,
      fault: null,
      last: { number: last.number, hash: last.hash },
    });
    expect(await operator.must('POST', '/operator/audit/verify', { number: 1, hash: last.hash }, 200)).toMatchObject({
      ok: false,
      fault: expect.stringContaining('entry 1 '),
    });
    expect(await system.cli('audit', 'verify', '--seen', `${last.number}:${last.hash}`)).toContain('unchanged');
    expect((await system.tryCli('audit', 'verify', '--seen', `1:${last.hash}`)).code).toBe(1);
  });

  it('reports the state of the system, and verifies the ledger on request', async () => {
    interface Health {
      mode: string;
      gateway: { ready: boolean; version: string; spool: object; feeds: { keys: { live: boolean; silent_ms: number } } };
      services: {
        name: string;
        ready: boolean;
        started_at: string;
        version: string;
        node_version: string;
        database: { engine: string; version: string };
      }[];
      ledger_check: { ok: boolean; at: string } | null;
    }
    const check = await operator.must<{ at: string }>('POST', '/operator/health/ledger-check', {}, 200);
    expect(check).toMatchObject({ ok: true, sum_usd: '0', drift_count: 0, drifts: [] });
    // On a busy machine a service may look unavailable for a moment.
    const health = await eventually(async () => {
      const now = await operator.get<Health & { gateway: { ready: boolean } }>('/operator/health');
      return now.gateway.ready ? now : undefined;
    });
    expect(health).toMatchObject({
      mode,
      gateway: {
        ready: true,
        missing: [],
        spool: { waiting: 0, refused: 0, damaged_files: 0 },
        feeds: { keys: { live: true }, catalog: { live: true } },
      },
      holds: { open: expect.any(Number), past_expiry: 0 },
      outbox: { refused: 0 },
      notifications: { waiting: 0, oldest_at: null },
      quarantined_last_hour: 0,
      reconciliation: { drifts: [] },
      upstreams: expect.arrayContaining([expect.objectContaining({ id: 'sandbox', enabled: true })]),
    });
    expect(health.services.map(({ name, ready }) => [name, ready])).toEqual(
      ['auth', 'catalog', 'ledger', 'metering', 'inference'].map((name) => [name, true]),
    );
    for (const { version, node_version, database, started_at } of health.services) {
      expect([version, node_version]).toEqual([health.gateway.version, process.versions.node]);
      expect(database).toMatchObject({
        engine: mode === 'single' ? 'SQLite' : 'MariaDB',
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
      });
      expect(Date.parse(started_at)).toBeLessThan(Date.now());
    }
    expect(health.ledger_check).toMatchObject({ ok: true });
    expect(Math.abs(Date.parse(health.ledger_check!.at) - Date.parse(check.at))).toBeLessThan(5000);
    const doctor = (await system.cli('doctor', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { check: string; ok: boolean; detail: string });
    expect(doctor).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ check: 'holds', ok: true }),
        expect.objectContaining({ check: 'audit log', ok: true }),
      ]),
    );
  });

  it('leaves correct books', async () => {
    expect(await system.cli('ledger', 'verify')).toMatch(/result +correct/);
  });
});
