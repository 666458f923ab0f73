import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { RedemptionCode, RedemptionCodeState, Statement } from '#proto/ledger/v1/ledger.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { tollgate, tollgateJson } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
  await tollgate(gateway, ['account', 'create', 'Acme']);
});

afterEach(() => gateway.stop());

describe('codes', () => {
  it('are shown when they are created and never again', async () => {
    const made = await tollgate(gateway, ['code', 'create', '2.5', '--count', '2', '--expires', '30d', '--note', 'conference']);
    expect(made.stdout).toMatch(/TGC-0000 +\$2\.5 +open/);
    expect(made.stderr).toContain('not shown again');
    expect(gateway.state.codes).toMatchObject([
      { amountNanoUsd: 2_500_000_000n, note: 'conference', expiresAtMs: BigInt(testNowMs + 30 * 86_400_000) },
      {},
    ]);
    const listed = await tollgateJson(gateway, ['code', 'list', '--state', 'open']);
    expect(listed).toMatchObject([{ amount_usd: '2.5', state: 'open', last_four: '0000' }, {}]);
    expect(listed[0]).not.toHaveProperty('code');
    expect(await tollgateJson(gateway, ['code', 'void', String(listed[0]!['batch_id'])])).toEqual([{ voided: 2 }]);
    expect(await tollgateJson(gateway, ['code', 'list', '--state', 'open'])).toEqual([]);
  });

  it('that may never have been shown can be voided', async () => {
    gateway.state.codesFault = new AppError('service_unavailable', 'The ledger is unavailable.');
    const lost = await tollgate(gateway, ['code', 'create', '5']);
    expect(lost).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Codes may have been created .*\n.*tollgate code void batch_[0-9a-f]{32}/),
    });
  });

  it('are shown as expired after their expiry', async () => {
    const code = RedemptionCode.fromPartial({
      id: 'code_1',
      state: RedemptionCodeState.REDEMPTION_CODE_STATE_OPEN,
      expiresAtMs: BigInt(testNowMs),
    });
    gateway.state.codes.push(code);
    expect(await tollgateJson(gateway, ['code', 'list'])).toMatchObject([{ state: 'expired' }]);
  });

  it('are redeemed from standard input, so that no other user of the machine sees them', async () => {
    const first = await tollgate(gateway, ['code', 'redeem'], { stdin: 'TGC-1\n' });
    expect(first.stdout).toMatch(/Booked as ent_/);
    expect(gateway.state.entries).toMatchObject([{ reference: 'TGC-1' }]);
    expect((await tollgate(gateway, ['code', 'redeem'], { stdin: 'TGC-1' })).stdout).toContain('had already redeemed it');
  });
});

describe('a statement', () => {
  it('is listed by month over several pages, and shown for one month', async () => {
    for (const month of ['2026-12', '2026-11', '2026-10']) {
      gateway.state.statements.push(
        Statement.fromPartial({
          month,
          openingNanoUsd: 1n,
          adjustmentsNanoUsd: -2_000_000_000n,
          closingNanoUsd: 3n,
          entries: 4n,
          isClosed: month !== '2026-12',
        }),
      );
    }
    const listed = await tollgate(gateway, ['statement', 'list']);
    expect(listed.stdout).toMatch(/2026-12 +\$0\.000000001 .*-\$2 .*\$0\.000000003 +4 +still open\n2026-11 .* closed\n2026-10 /);
    expect(await tollgateJson(gateway, ['statement', 'show', '2026-11'])).toMatchObject([
      { month: '2026-11', adjustments_usd: '-2', closing_nano_usd: '3', lines: 4, is_closed: true },
    ]);
    expect(await tollgate(gateway, ['statement', 'show', '1999-01'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no statement'),
    });
    expect(await tollgate(gateway, ['statement', 'lines', '2026-11', '--kind', 'gift'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('deposit'),
    });
  });
});
