// Billing in the console's API: consecutive months that match the ledger, receipts, and codes that credit once.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { callContext } from '#client/call-context.js';
import { newId } from '#kit/id.js';
import { HoldState } from '#proto/ledger/v1/ledger.js';
import { parseCliConfig } from '../../cli/config.js';
import { connect } from '../../cli/connect.js';
import { holdRequest } from '../../services/ledger/testing/requests.js';
import { chat, nanoUsd, settled } from '../support/clients/calls.js';
import { addMember, addUser, type Browser, password, signedIn } from '../support/clients/console.js';
import { eventually } from '../support/systems/process.js';
import { modes, startSystem, type System } from '../support/systems/system.js';

interface StatementView {
  month: string;
  opening_usd: string;
  deposits_usd: string;
  charges_usd: string;
  closing_usd: string;
  lines: number;
  is_closed: boolean;
}

interface Line {
  id: string;
  number: number;
  kind: string;
  amount_usd: string;
  effect_usd: string;
  balance_after_usd: string;
  request_id: string | null;
  source: string | null;
  reference: string | null;
  reason: string | null;
}

interface Code {
  id: string;
  batch_id: string;
  state: string;
  code: string;
  account_id: string | null;
}

describe.each(modes)('billing in the console’s API, %s', (mode) => {
  let system: System;
  let accountId: string;
  let account: string;
  let billing: Browser;
  let operator: Browser;

  beforeAll(async () => {
    system = await startSystem(mode);
    ({ id: accountId } = await system.json<{ id: string }>('account', 'create', '=Acme'));
    account = `/accounts/${accountId}`;
    const text = ['--reason', '=1+1', '--reference', 'INV-7', '--idempotency-key', 'a key'];
    await system.cli('balance', 'deposit', '5', '--account', accountId, ...text);
    for (const role of ['owner', 'billing', 'developer', 'viewer']) {
      await addMember(system, accountId, `${role}@example.com`, role);
    }
    await addUser(system, 'operator@example.com', password, '--operator');
    [billing, operator] = [await browserOf('billing'), await browserOf('operator')];
    const { secret } = await (await browserOf('owner')).must<{ secret: string }>('POST', `${account}/keys`, { name: 'server' }, 201);
    for (let call = 0; call < 3; call += 1) await (await chat(system, secret)).text();
    await settled(system, accountId);
  });

  afterAll(() => system?.stop());

  const browserOf = (name: string): Promise<Browser> => signedIn(system, `${name}@example.com`);

  const statements = async (): Promise<StatementView[]> => (await billing.get<{ data: StatementView[] }>(`${account}/statements`)).data;

  it('shows consecutive months whose lines add up, the same as the operator’s command', async () => {
    const [month] = await statements();
    const shown = await system.json('statement', 'show', month!.month, '--account', accountId);
    for (const name of ['opening_usd', 'deposits_usd', 'charges_usd', 'refunds_usd', 'adjustments_usd', 'closing_usd', 'lines'] as const) {
      expect(shown[name]).toEqual(month![name as keyof StatementView]);
    }
    const lines: Line[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page: { statement: StatementView; data: Line[]; next: string | null } = await billing.get(
        `${account}/statements/${month!.month}?order=oldest&limit=2&cursor=${cursor}`,
      );
      expect(page.statement).toEqual(month);
      lines.push(...page.data);
      cursor = page.next;
    }
    expect(lines).toHaveLength(month!.lines);
    expect(nanoUsd(month!.opening_usd) + lines.reduce((sum, line) => sum + nanoUsd(line.effect_usd), 0n)).toBe(nanoUsd(month!.closing_usd));
    expect((await billing.get(`${account}/balance`))['settled_usd']).toBe(month!.closing_usd);
    const charges = lines.filter(({ kind }) => kind === 'charge');
    expect(charges).toHaveLength(3);
    for (const charge of charges) {
      const record = await billing.get<{ charge_usd: string }>(`${account}/usage/records/${charge.request_id}`);
      expect(record.charge_usd).toBe(charge.amount_usd);
    }
    const only = await billing.get<{ data: Line[] }>(`${account}/statements/${month!.month}?kind=charge`);
    expect(only.data).toEqual(charges.toReversed());
    const commandLines = (await system.cli('statement', 'lines', month!.month, '--account', accountId, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { id: string });
    expect(commandLines.map(({ id }) => id)).toEqual(lines.map(({ id }) => id));
    expect(await billing.refusal('GET', `${account}/statements/1999-01`)).toEqual([404, 'not_found']);
    expect(await billing.refusal('GET', `${account}/statements/1999-13`)).toEqual([400, 'invalid_request']);
    expect(await billing.refusal('GET', `${account}/statements/${month!.month}?kind=gift`)).toEqual([400, 'invalid_request']);
  });

  it('exports a statement from opening to closing balance, safe for spreadsheets', async () => {
    const [month] = await statements();
    const response = await billing.ask('GET', `${account}/statements/${month!.month}?format=csv`);
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="statement-${month!.month}.csv"`);
    const [head, ...rows] = (await response.text())
      .trimEnd()
      .split('\r\n')
      .map((line) => line.split(','));
    const of = (name: string) => rows.map((row) => row[head!.indexOf(name)]!);
    expect(of('kind')).toEqual(['opening', 'deposit', 'charge', 'charge', 'charge', 'closing']);
    expect([of('balance_usd')[0], of('balance_usd').at(-1)]).toEqual([month!.opening_usd, month!.closing_usd]);
    expect(of('reason')[1]).toBe("'=1+1 (INV-7)");
    expect(of('reference')).toEqual(['', 'INV-7', '', '', '', '']);
    const balances = of('balance_usd').map(nanoUsd);
    of('effect_usd')
      .slice(1, -1)
      .forEach((effect, index) => expect(balances[index]! + nanoUsd(effect)).toBe(balances[index + 1]));
  });

  it('exports what the calls of a month cost by project', async () => {
    const [month] = await statements();
    const response = await billing.ask('GET', `${account}/statements/${month!.month}?format=projects-csv`);
    expect(response.headers.get('content-disposition')).toBe(`attachment; filename="statement-${month!.month}-projects.csv"`);
    const lines = (await response.text()).trimEnd().split('\r\n');
    const project = accountId.replace('acct', 'proj');
    expect(lines).toEqual([
      'month,project_id,project,calls,units,charge_usd',
      `${month!.month},${project},Default,3,,${month!.charges_usd}`,
    ]);
    expect(await system.json('statement', 'projects', month!.month, '--account', accountId)).toMatchObject({
      project: 'Default',
      calls: 3,
      charge_usd: month!.charges_usd,
    });
  });

  it('has a receipt for each deposit and for no other entry', async () => {
    const { data } = await billing.get<{ data: Line[] }>(`${account}/deposits`);
    const deposit = data.find(({ reference }) => reference === 'INV-7')!;
    expect(await billing.get(`${account}/receipts/${deposit.id}`)).toMatchObject({
      number: expect.stringMatching(/^R-[0-9A-F]{8}-000001$/),
      account: { id: accountId, name: '=Acme' },
      amount_usd: '5',
      source: 'cash',
      reference: 'INV-7',
      reason: '=1+1 (INV-7)',
      balance_after_usd: '5',
    });
    const [{ month }] = (await statements()) as [StatementView];
    const {
      data: [charge],
    } = await billing.get<{ data: Line[] }>(`${account}/statements/${month}?kind=charge`);
    expect(await billing.refusal('GET', `${account}/receipts/${charge!.id}`)).toEqual([404, 'not_found']);
    expect(await billing.refusal('GET', `${account}/receipts/ent_00`)).toEqual([404, 'not_found']);
    const { id: other } = await system.json<{ id: string }>('account', 'create', 'Other');
    expect(await billing.refusal('GET', `/accounts/${other}/receipts/${deposit.id}`)).toEqual([404, 'not_found']);
    expect(await operator.refusal('GET', `/accounts/${other}/receipts/${deposit.id}`)).toEqual([404, 'not_found']);
  });

  it('credits a code once, however many users redeem it at the same time', async () => {
    const before = nanoUsd((await billing.get<{ settled_usd: string }>(`${account}/balance`)).settled_usd);
    const {
      data: [made],
      batch_id,
    } = await operator.must<{ data: Code[]; batch_id: string }>('POST', '/operator/codes', { amount_usd: '1.25', note: 'conference' }, 201);
    expect(made).toMatchObject({ state: 'open', batch_id, code: expect.stringMatching(/^TGC(-[0-9A-Z]{5}){4}$/) });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => billing.ask('POST', `${account}/redemptions`, { code: made!.code })),
    );
    const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as { entry: Line; replayed: boolean }[];
    expect(answers.map(({ status }) => status).toSorted()).toEqual([...Array(19).fill(200), 201]);
    expect(new Set(bodies.map(({ entry }) => entry.id)).size).toBe(1);
    expect(bodies[0]!.entry).toMatchObject({ kind: 'deposit', source: 'promotion', amount_usd: '1.25' });
    expect(nanoUsd((await billing.get<{ settled_usd: string }>(`${account}/balance`)).settled_usd) - before).toBe(1_250_000_000n);
    expect(await billing.get(`${account}/receipts/${bodies[0]!.entry.id}`)).toMatchObject({ source: 'promotion', amount_usd: '1.25' });
    const { data } = await operator.get<{ data: Code[] }>('/operator/codes?state=redeemed');
    expect(data).toMatchObject([{ id: made!.id, state: 'redeemed', account_id: accountId }]);
    expect(data[0]).not.toHaveProperty('code');
    const redeemed = await eventually(async () => {
      const { data: events } = await operator.get<{ data: { action: string; actor: string }[] }>(`${account}/audit`);
      const found = events.filter(({ action }) => action === 'code.redeem');
      return found.length > 0 ? found : undefined;
    });
    expect(redeemed).toMatchObject([{ actor: 'billing@example.com' }]);
  });

  it('lets only roles that may change money redeem codes, and only operators create them', async () => {
    for (const [role, status] of [
      ['developer', 403],
      ['viewer', 403],
    ] as const) {
      expect((await (await browserOf(role)).ask('POST', `${account}/redemptions`, { code: 'x' })).status).toBe(status);
    }
    expect(await billing.refusal('GET', '/operator/codes')).toEqual([404, 'not_found']);
    expect(await billing.refusal('POST', '/operator/codes', { amount_usd: '1' })).toEqual([404, 'not_found']);
    expect(await operator.refusal('POST', '/operator/codes', { amount_usd: '0' })).toEqual([400, 'invalid_request']);
    expect(await operator.refusal('POST', '/operator/codes', { amount_usd: '1', expires_at: '2020-01-01T00:00:00Z' })).toEqual([
      400,
      'invalid_request',
    ]);
  });

  it('creates a batch of high value only if its sum is confirmed', async () => {
    const batch = { amount_usd: '0.25', count: 401 };
    const ask = async (confirm: object): Promise<unknown> => {
      const response = await operator.ask('POST', '/operator/codes', { ...batch, ...confirm });
      return { status: response.status, ...((await response.json()) as { error?: object }).error };
    };
    expect(await ask({})).toMatchObject({
      status: 400,
      code: 'invalid_request',
      field: 'confirm_amount_usd',
      rule: 'confirm_amount',
      params: { amount_nano_usd: '100250000000', above_nano_usd: '100000000000' },
    });
    expect(await ask({ confirm_amount_usd: '100' })).toMatchObject({
      status: 400,
      field: 'confirm_amount_usd',
      message: expect.stringContaining('must equal the amount, $100.25'),
    });
    const { data, batch_id } = await operator.must<{ data: Code[]; batch_id: string }>(
      'POST',
      '/operator/codes',
      { ...batch, confirm_amount_usd: '100.25' },
      201,
    );
    expect(data).toHaveLength(401);
    expect(await operator.must('POST', `/operator/codes/${batch_id}/void`, {}, 200)).toEqual({ voided: 401 });
  });

  it('reverses each charge of a call that was settled after its hold had expired', async () => {
    const { ledger, close } = await connect(parseCliConfig(system.operatorEnv()));
    const context = () => callContext({ caller: 'operator', timeoutMs: 15_000 });
    try {
      const names = { holdId: newId('req'), accountId };
      const keyId = newId('key');
      await ledger.hold(holdRequest({ accountId, keyId }, 1_000_000_000n, { ...names, ttlMs: 1000 }), context());
      await ledger.checkpoint({ items: [{ ...names, costSoFarNanoUsd: 300_000_000n, ttlMs: 1000 }] }, context());
      await eventually(async () =>
        (await ledger.getHold(names, context())).hold!.state === HoldState.HOLD_STATE_EXPIRED ? true : undefined,
      );
      await ledger.settle({ ...names, keyId, costNanoUsd: 800_000_000n }, context());
      const charges = (await billing.get<{ data: Line[] }>(`${account}/entries`)).data.filter(({ request_id: id }) => id === names.holdId);
      expect(charges.map(({ kind, amount_usd }) => [kind, amount_usd])).toEqual([
        ['charge', '0.5'],
        ['charge', '0.3'],
      ]);
      const reverse = (id: string) => operator.ask('POST', `/operator/accounts/${accountId}/entries/${id}/reverse`, { reason: 'cut off' });
      for (const status of [201, 200]) {
        const response = await reverse(charges[1]!.id);
        expect([response.status, await response.json()]).toMatchObject([status, { entry: { kind: 'refund', amount_usd: '0.3' } }]);
      }
      const refund = await system.cli('balance', 'reverse', charges[0]!.id, '--account', accountId, '--reason', 'cut off', '--json');
      expect(JSON.parse(refund)).toMatchObject({ entry: { kind: 'refund', amount_usd: '0.5' }, replayed: false });
    } finally {
      close();
    }
  });

  it('refuses void codes, and blocks users who guess codes for a while', async () => {
    const codes = (await system.cli('code', 'create', '3', '--count', '2', '--note', 'by command', '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Code);
    expect(await system.json('code', 'void', codes[0]!.id)).toEqual({ voided: 1 });
    expect(await billing.refusal('POST', `${account}/redemptions`, { code: codes[0]!.code })).toEqual([409, 'code_refused']);
    expect(await operator.must('POST', `/operator/codes/${codes[1]!.batch_id}/void`, {}, 200)).toEqual({ voided: 1 });
    const listed = (await system.cli('code', 'list', '--batch', codes[0]!.batch_id, '--json'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Code);
    expect(listed.map(({ state }) => state)).toEqual(['void', 'void']);
    for (let guess = 0; guess < 9; guess += 1) await billing.refusal('POST', `${account}/redemptions`, { code: `guess ${guess}` });
    const response = await billing.ask('POST', `${account}/redemptions`, { code: codes[1]!.code });
    expect([response.status, Number(response.headers.get('retry-after')) > 600]).toEqual([429, true]);
    expect(await response.json()).toMatchObject({ error: { code: 'code_throttled' } });
  });
});
