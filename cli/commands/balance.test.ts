import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { VerifyResponse } from '#proto/ledger/v1/ledger.js';
import { UsageRecord } from '#proto/metering/v1/metering.js';
import { type FakeGateway, startFakeGateway } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('a balance', () => {
  beforeEach(() => tollgate(gateway, ['account', 'create', 'Acme']));

  it('is deposited once per idempotency key, which is always printed', async () => {
    const first = await tollgate(gateway, ['balance', 'deposit', '0.25', '--reason', 'paid']);
    expect(first.stdout).toMatch(/available +\$0\.25/);
    const key = /--idempotency-key (\S+)/.exec(first.stdout)![1]!;
    const [second] = await tollgateJson(gateway, ['balance', 'deposit', '0.25', '--reason', 'paid', '--idempotency-key', key]);
    expect(second).toMatchObject({ available_usd: '0.25', available_nano_usd: '250000000', replayed: true, idempotency_key: key });
    expect(await tollgateJson(gateway, ['balance', 'adjust', '-0.05', '--reason', 'mistake'])).toMatchObject([{ available_usd: '0.2' }]);
    expect(await tollgateJson(gateway, ['balance', 'entries'])).toMatchObject([
      { seq: '2', kind: 'adjustment', debit: 'customer', amount_usd: '0.05' },
      { seq: '1', kind: 'deposit', credit: 'customer', amount_usd: '0.25' },
    ]);
  });

  it('is not changed or shown for an account that does not exist, although the ledger accepts any id', async () => {
    const account = ['--account', 'acct_0123456789abcdef0123456789abcdef'];
    for (const command of [
      ['balance', 'deposit', '5'],
      ['balance', 'adjust', '-1', '--reason', 'mistake'],
      ['balance', 'show'],
      ['balance', 'entries'],
      ['statement', 'list'],
      ['alert', 'set', '5', '--email', 'ada@example.com'],
      ['usage', 'list'],
      ['usage', 'totals', '--by', 'model'],
      ['refusals', 'list'],
      ['refusals', 'totals'],
      ['ledger', 'verify'],
      ['ledger', 'export'],
    ]) {
      const { code, stderr } = await tollgate(gateway, [...command, ...account]);
      expect([command, code, stderr]).toEqual([command, 1, `error: There is no account ${account[1]}.\n`]);
    }
    expect(gateway.state.entries).toEqual([]);
  });

  it('can be changed while auth is unavailable', async () => {
    const { id } = gateway.state.accounts[0]!;
    gateway.state.accountFault = new AppError('service_unavailable', 'Away.');
    expect(await tollgateJson(gateway, ['balance', 'deposit', '5', '--account', id])).toMatchObject([{ available_usd: '5' }]);
  });

  it('is reversed once per entry, without an idempotency key', async () => {
    await tollgate(gateway, ['balance', 'deposit', '5']);
    const [entry] = await tollgateJson(gateway, ['balance', 'entries']);
    const reverse = ['balance', 'reverse', String(entry!['id']), '--reason', 'mistake'];
    expect((await tollgate(gateway, reverse)).stdout).toMatch(/Booked \$5 as ent_\w+\.\n$/);
    expect((await tollgate(gateway, reverse)).stdout).toMatch(/nothing was changed\.\n$/);
    // Once the reversal is itself reversed, the entry can be reversed again.
    const [reversal] = await tollgateJson(gateway, ['balance', 'entries']);
    await tollgate(gateway, ['balance', 'reverse', String(reversal!['id']), '--reason', 'no mistake']);
    expect((await tollgate(gateway, reverse)).stdout).toMatch(/Booked \$5 as ent_\w+\.\n$/);
    expect((await tollgate(gateway, reverse)).stdout).toMatch(/nothing was changed\.\n$/);
    expect(gateway.state.entries).toHaveLength(4);
  });

  it('books a refund of a payment by the operator as such', async () => {
    await tollgate(gateway, ['balance', 'deposit', '5']);
    const [entry] = await tollgateJson(gateway, ['balance', 'entries']);
    const adjust = ['balance', 'adjust', '-2', '--reason', 'refund re_1', '--entry', String(entry!['id'])];
    for (const [option, kind] of [
      [[], 'adjustment'],
      [['--payment-refund'], 'payment_refund'],
    ] as const)
      expect(await tollgateJson(gateway, [...adjust, ...option])).toMatchObject([{ entry: { kind, amount_usd: '2' } }]);
  });

  it('prints how to retry a deposit whose outcome is unknown, and the retry books nothing twice', async () => {
    gateway.state.depositFault = new AppError('service_unavailable', 'The ledger is unavailable.');
    const lost = await tollgate(gateway, ['balance', 'deposit', '5']);
    expect(lost.code).toBe(1);
    expect(lost.stderr).toMatch(/The ledger is unavailable\. It may or may not have been booked\./);
    const key = /--idempotency-key (\S+);/.exec(lost.stderr)![1]!;
    expect(await tollgateJson(gateway, ['balance', 'deposit', '5', '--idempotency-key', key])).toMatchObject([
      { available_usd: '5', replayed: true },
    ]);
    expect(gateway.state.entries).toHaveLength(1);
  });

  it('gets a refund for a call, whose account is found by its usage record', async () => {
    gateway.state.records = [UsageRecord.fromPartial({ call: { id: 'req_1', accountId: 'acct_7' } })];
    const whole = await tollgate(gateway, ['balance', 'refund', 'req_1', '--reason', 'cut off']);
    expect(whole.stdout).toMatch(/Booked \$\S+ as ent_\w+\.\nTo retry safely, add: --idempotency-key \S+/);
    expect(gateway.state.lastRefundRequest).toMatchObject({
      accountId: 'acct_7',
      holdId: 'req_1',
      amountNanoUsd: undefined,
      reason: 'cut off',
    });
    const [part] = await tollgateJson(gateway, [
      'balance',
      'refund',
      'req_9',
      '--account',
      'acct_8',
      '--amount',
      '0.01',
      '--reason',
      'slow',
      '--idempotency-key',
      'k1',
    ]);
    expect(part).toMatchObject({ replayed: false, idempotency_key: 'k1', entry: { kind: 'refund', amount_usd: '0.01' } });
    expect(gateway.state.lastRefundRequest).toEqual({
      accountId: 'acct_8',
      holdId: 'req_9',
      amountNanoUsd: 10_000_000n,
      reason: 'slow',
      idempotencyKey: 'k1',
    });
    expect((await tollgate(gateway, ['balance', 'refund', 'req_1'])).code).toBe(2);
  });

  it('can be deposited into safely again after Ctrl-C', async () => {
    const { stderr } = await tollgate(gateway, ['balance', 'deposit', '5'], { isInterrupted: true });
    expect(stderr).toMatch(
      /It may or may not have been booked\.\nTo make sure, retry with the same amount and --idempotency-key [\w-]{36};/,
    );
  });

  it('lists holds page by page, and says how to continue when there are more', async () => {
    const listed = (...args: string[]) => tollgate(gateway, ['balance', 'holds', ...args]);
    expect(await listed()).toMatchObject({ code: 0, stderr: '' });
    const some = await listed('--limit', '2');
    expect([some.stdout.trim().split('\n').length, some.stderr]).toEqual([3, expect.stringContaining('add --page 2 to continue')]);
    const rest = await listed('--page', '2');
    expect([rest.stdout.trim().split('\n')[1], rest.stderr]).toEqual([expect.stringContaining('req_2'), '']);
  });

  it('is verified, and a drift is an error', async () => {
    expect(await tollgate(gateway, ['balance', 'verify'])).toMatchObject({ code: 0, stdout: expect.stringMatching(/result +correct/) });
    gateway.state.verification = VerifyResponse.fromPartial({
      drifts: [{ accountId: 'acct_1', subject: 'spent', storedNanoUsd: 2n, rebuiltNanoUsd: 1n }],
    });
    const wrong = await tollgate(gateway, ['balance', 'verify']);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('Balances differ from the journal.') });
    expect(wrong.stdout).toMatch(/acct_1 +spent +\$0\.000000002 +\$0\.000000001/);
  });
});
