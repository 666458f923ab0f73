import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { VerifyResponse } from '#proto/ledger/v1/ledger.js';
import { Drift, DriftCheck, UnsettledCharge, UnsettledState } from '#proto/metering/v1/metering.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { jsonLines, tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;
let folder: string;
const callId = `req_${'0'.repeat(32)}`;

beforeEach(async () => {
  gateway = await startFakeGateway();
  folder = mkdtempSync(join(tmpdir(), 'tollgate-export-'));
});

afterEach(async () => {
  rmSync(folder, { recursive: true, force: true });
  await gateway.stop();
});

describe('the ledger', () => {
  it('is verified as a whole, and shows how much was checked', async () => {
    gateway.state.verification = VerifyResponse.fromPartial({ accountsChecked: 4n, entriesChecked: 9n, openHolds: 1n });
    expect(await tollgate(gateway, ['ledger', 'verify'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/result +correct\n.*\nusage records checked +2\nholds checked +3, of which 1 are open/),
    });
    expect(await tollgateJson(gateway, ['ledger', 'verify'])).toEqual([
      {
        ok: true,
        accounts_checked: 4,
        records_checked: 2,
        holds_checked: 3,
        settlements_checked: 0,
        entries_checked: 9,
        open_holds: 1,
        sum_usd: '0',
        sum_nano_usd: '0',
        drifts: [],
      },
    ]);
  });

  it('fails with every drift of every part, named', async () => {
    const drift = Drift.fromPartial({
      check: DriftCheck.DRIFT_CHECK_RECORD_MISSING,
      accountId: 'acct_1',
      callId,
      subject: 'settled without a record',
      stored: 7n,
    });
    gateway.state.drifts = [drift, { ...drift, subject: 'another' }, drift];
    gateway.state.verification = VerifyResponse.fromPartial({
      drifts: [{ accountId: 'acct_2', subject: `captured of ${callId}`, storedNanoUsd: 2n, rebuiltNanoUsd: 1n }],
    });
    const wrong = await tollgate(gateway, ['ledger', 'verify']);
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('Records, prices, holds, balances or the journal disagree.') });
    expect(wrong.stdout).toMatch(new RegExp(`record_missing +acct_1 +${callId} +settled without a record +7 +0`));
    const { code, stdout } = await tollgate(gateway, ['ledger', 'verify', '--json']);
    expect(code).toBe(1);
    expect(jsonLines(stdout)[0]).toMatchObject({
      ok: false,
      records_checked: 6,
      drifts: [{ check: 'record_missing' }, { what: 'another' }, { check: 'books', call_id: callId, stored: '2', expected: '1' }],
    });
  });

  it('is exported completely or not at all, in exact figures', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme']);
    for (const [amount, reason] of [
      ['5', 'a "gift", twice'],
      ['0.000000001', 'two\nlines'],
      ['3', ''],
    ])
      await tollgate(gateway, ['balance', 'deposit', amount!, '--reason', reason!]);
    const path = join(folder, 'journal.csv');
    const until = new Date(testNowMs + 1).toISOString();
    const exported = await tollgate(gateway, ['ledger', 'export', '--format', 'csv', '--out', path, '--until', until]);
    expect(exported).toMatchObject({ code: 0, stdout: '', stderr: `3 entries in 1 account, created before ${until}.\n` });
    const text = readFileSync(path, 'utf8');
    expect(text.split('\r\n')[0]).toMatch(/^id,account_id,seq,kind,debit,credit,amount_nano_usd,/);
    expect(text).toContain(',5000000000,');
    expect(text).toContain(',"a ""gift"", twice",');
    expect(text).toContain(',"two\nlines",');
    expect(readdirSync(folder)).toEqual(['journal.csv']);

    const lines = jsonLines((await tollgate(gateway, ['ledger', 'export', '--until', until])).stdout);
    expect(lines).toMatchObject([
      { seq: '1', amount_nano_usd: '5000000000' },
      { seq: '2', amount_nano_usd: '1', kind: 'deposit', debit: 'cash', credit: 'customer' },
      { seq: '3' },
    ]);
    // More entries of the current millisecond may still be added.
    expect((await tollgate(gateway, ['ledger', 'export'])).stdout).toBe('');
  });

  it('reports a file that cannot be written as a fault of its path', async () => {
    const missing = await tollgate(gateway, ['ledger', 'export', '--out', join(folder, 'missing', 'journal.csv')]);
    expect(missing).toMatchObject({ code: 2, stderr: `error: The folder ${join(folder, 'missing')} does not exist.\n` });
    expect(await tollgate(gateway, ['ledger', 'export', '--out', folder])).toMatchObject({
      code: 2,
      stderr: `error: ${folder} is a folder; specify a file.\n`,
    });
  });

  it('leaves no partial file when the connection is lost', async () => {
    const path = join(folder, 'journal.jsonl');
    const failed = await tollgate(gateway, ['ledger', 'export', '--out', path], { env: { TOLLGATE_DATA_DIR: folder } });
    expect(failed.code).toBe(1);
    expect(readdirSync(folder)).toEqual([]);
    expect((await tollgate(gateway, ['ledger', 'export', '--format', 'xml'])).code).toBe(2);
  });
});

describe('unsettled charges', () => {
  beforeEach(() => {
    gateway.state.charges = [
      UnsettledCharge.fromPartial({
        callId,
        accountId: 'acct_1',
        chargeNanoUsd: 7n,
        state: UnsettledState.UNSETTLED_STATE_REJECTED,
        attempts: 1,
        error: 'The hold was released.',
        recordedAtMs: BigInt(testNowMs),
      }),
    ];
  });

  it('are listed with the cause', async () => {
    expect((await tollgate(gateway, ['usage', 'unsettled'])).stdout).toMatch(
      new RegExp(`${callId} +acct_1 +\\$0\\.000000007 +rejected +1 +The hold was released\\.`),
    );
    expect(await tollgateJson(gateway, ['usage', 'unsettled', '--state', 'rejected'])).toMatchObject([
      { call_id: callId, charge_nano_usd: '7', state: 'rejected', reason: null },
    ]);
  });

  it('say that there is nothing to retry', async () => {
    gateway.state.charges = [];
    expect(await tollgate(gateway, ['usage', 'retry', '--all'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/The ledger has rejected no charge\.\n$/),
    });
    expect((await tollgate(gateway, ['usage', 'retry', callId])).stdout).toMatch(/This charge was retried before/);
    expect(await tollgateJson(gateway, ['usage', 'retry', '--all'])).toEqual([{ retried: 0 }]);
  });

  it('are retried, one or all, and closed with a reason', async () => {
    expect(await tollgateJson(gateway, ['usage', 'retry', '--all'])).toEqual([{ retried: 1 }]);
    expect(await tollgateJson(gateway, ['usage', 'retry', callId])).toEqual([{ retried: 1 }]);
    expect((await tollgate(gateway, ['usage', 'retry'])).code).toBe(2);
    expect((await tollgate(gateway, ['usage', 'close', callId])).code).toBe(2);
    expect(await tollgateJson(gateway, ['usage', 'close', callId, '--reason', 'agreed'])).toMatchObject([
      { state: 'closed', reason: 'agreed' },
    ]);
  });
});
