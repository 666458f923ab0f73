import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { Model, ModelState, PriceVersion } from '#proto/catalog/v1/catalog.js';
import { ApiFormat, EjectionCause, TargetHealth, TargetState, Upstream, UpstreamTest } from '#proto/inference/v1/inference.js';
import { VerifyResponse } from '#proto/ledger/v1/ledger.js';
import { DriftCheck, GetOutboxResponse, GetReconciliationResponse } from '#proto/metering/v1/metering.js';
import { type FakeGateway, startFakeGateway, testNowMs } from '../testing/fake-gateway.js';
import { jsonLines, tollgate } from '../testing/tollgate.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = await startFakeGateway();
});

afterEach(() => gateway.stop());

describe('the doctor', () => {
  beforeEach(() => {
    gateway.state.models.push(
      Model.fromPartial({ id: 'a', state: ModelState.MODEL_STATE_ACTIVE, price: PriceVersion.fromPartial({ id: 'price_1' }) }),
    );
    gateway.state.upstreams.push(Upstream.fromPartial({ id: 'sandbox', apiFormat: ApiFormat.API_FORMAT_SANDBOX, enabled: true }));
  });

  async function examine(): Promise<{ code: number; checks: unknown[]; fixes: Record<string, unknown> }> {
    const { code, stdout } = await tollgate(gateway, ['doctor', '--json']);
    const findings = jsonLines(stdout);
    const bad = findings.filter((finding) => finding['ok'] === false);
    return {
      code,
      checks: findings.map((finding) => finding['check']),
      fixes: Object.fromEntries(bad.map((finding) => [finding['check'], finding['fix']])),
    };
  }

  it('finds nothing wrong with a healthy gateway', async () => {
    const { code, checks, fixes } = await examine();
    expect({ code, fixes }).toEqual({ code: 0, fixes: {} });
    expect(checks).toEqual([
      'node',
      'configuration',
      'gateway',
      'clock',
      'connection',
      'auth',
      'backups',
      'secret key',
      'audit log',
      'notifications',
      'catalog',
      'models',
      'ledger',
      'books',
      'holds',
      'notification outbox',
      'metering',
      'outbox',
      'quarantine',
      'reconcile',
      'inference',
      'upstreams',
      'versions',
      'clocks',
      'certificates',
      'disks',
    ]);
    const { stdout } = await tollgate(gateway, ['doctor']);
    expect(stdout).toMatch(
      /ledger +serving; version 1\.2\.3 on Node 24\.0\.0 and SQLite 3\.50\.0 \(0\.4 ms\)[^]*holds +2 open, the oldest for 5 s/,
    );
    // The lines are printed one by one, but are aligned.
    const starts = stdout
      .split('\n')
      .filter(Boolean)
      .map((line) => /^.{4}  .*?  +/.exec(line)![0].length);
    expect(new Set(starts.slice(1)).size).toBe(1);
  });

  it('prints the fix for each fault, and fails', async () => {
    const { state } = gateway;
    state.nowMs = testNowMs - 60_000;
    state.models[0]!.price = undefined;
    state.verification = VerifyResponse.fromPartial({ sumNanoUsd: 1n });
    state.outbox = GetOutboxResponse.fromPartial({ pending: 3n, oldestPendingAtMs: BigInt(testNowMs - 120_000) });
    state.upstreams[0]!.enabled = false;
    expect(await examine()).toMatchObject({
      code: 1,
      fixes: {
        clock: expect.stringContaining('NTP'),
        models: expect.stringContaining('tollgate price publish'),
        books: expect.stringContaining('tollgate balance verify'),
        outbox: expect.stringContaining('metering'),
        upstreams: expect.stringContaining('tollgate upstream'),
      },
    });
  });

  it('says when prices take effect, and names the clock, if none is in force', async () => {
    gateway.state.models[0]!.price = undefined;
    gateway.state.scheduledPrices.push(PriceVersion.fromPartial({ effectiveFromMs: BigInt(Date.UTC(2030, 0)) }));
    const { stdout } = await tollgate(gateway, ['doctor']);
    expect(stdout).toMatch(
      /No price is in force, so every call is refused; that of a takes effect at 2030-01-01 00:00:00Z\.[^]*correct the clock/,
    );
  });

  it('reports a changed audit log, holds past their expiry and upstreams with implausible usage', async () => {
    gateway.state.auditDrift = 'Entry 2 is missing.';
    gateway.state.holdsPastExpiry = 1001n;
    gateway.state.quarantinedLastHour = 3n;
    expect((await examine()).fixes).toEqual({
      'audit log': expect.stringContaining('Copy'),
      holds: expect.stringContaining('log'),
      quarantine: expect.stringContaining('tollgate usage list'),
    });
  });

  it('reports that there is no recent backup, and that a restored installation sends nothing', async () => {
    const { state } = gateway;
    state.backups.oldestAccountAtMs = BigInt(testNowMs - 31 * 3_600_000);
    state.pausedAtMs = BigInt(testNowMs - 60_000);
    const backupAtMs = BigInt(testNowMs - 7_200_000);
    state.auditRestore = { atMs: state.pausedAtMs, backupAtMs, lastNumber: 2n };
    expect((await tollgate(gateway, ['doctor'])).stdout).toMatch(/none changed; restored on \S+ \S+ from the backup of /);
    state.auditRestore = { atMs: BigInt(testNowMs - 31 * 86_400_000), backupAtMs, lastNumber: 2n };
    expect((await tollgate(gateway, ['doctor'])).stdout).not.toContain('restored on');
    expect((await examine()).fixes).toEqual({
      backups: expect.stringContaining('tollgate backup'),
      notifications: expect.stringContaining('tollgate notifications resume'),
    });
    state.backups.lastBackupAtMs = BigInt(testNowMs - 29 * 3_600_000);
    state.pausedAtMs = 0n;
    expect((await examine()).fixes).toEqual({});
  });

  it('reports charges that the ledger rejected', async () => {
    gateway.state.outbox = GetOutboxResponse.fromPartial({ failed: 1n });
    expect((await examine()).fixes).toEqual({ outbox: expect.stringContaining('tollgate usage unsettled') });
  });

  it('reports notifications that are not delivered or do not reach auth', async () => {
    gateway.state.oldestNotificationAtMs = BigInt(testNowMs - 3_600_000);
    gateway.state.oldestUnshippedNotificationAtMs = BigInt(testNowMs - 30_000);
    expect((await examine()).fixes).toEqual({});
    gateway.state.oldestNotificationAtMs = BigInt(testNowMs - 3 * 3_600_000);
    gateway.state.oldestUnshippedNotificationAtMs = BigInt(testNowMs - 90_000);
    expect((await examine()).fixes).toEqual({
      notifications: expect.stringContaining('log'),
      'notification outbox': expect.stringContaining('log of the ledger'),
    });
  });

  it('does not report webhook requests that their endpoints reject', async () => {
    gateway.state.rejectedNotifications = 3n;
    expect((await examine()).fixes).toEqual({});
  });

  it('reports the findings of the reconcile job, and when it does not run', async () => {
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({
      recent: { finishedAtMs: BigInt(testNowMs - 5000) },
      drifts: [{ callId: 'req_1', subject: 'charge' }],
    });
    expect((await examine()).fixes).toEqual({ reconcile: expect.stringContaining('tollgate ledger verify') });
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({ recent: { finishedAtMs: BigInt(testNowMs - 5000) } });
    expect((await examine()).fixes).toEqual({});
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({ recent: { finishedAtMs: BigInt(testNowMs - 86_400_000) } });
    expect((await examine()).fixes).toEqual({ reconcile: expect.stringContaining('metering') });
  });

  it('reports the certificate and the disk of a gateway before they stop calls', async () => {
    gateway.state.readiness = { status: 'ok', warnings: ['certificate', 'spool_disk'] };
    expect(await examine()).toMatchObject({
      code: 1,
      fixes: {
        'gateway certificate': expect.stringContaining('TOLLGATE_TLS_CERT'),
        'gateway disk': expect.stringContaining('Free up disk space'),
      },
    });
    gateway.state.readiness = { status: 'ok', warnings: ['certificate_expired'] };
    expect((await tollgate(gateway, ['doctor'])).stdout).toMatch(
      /^FAIL +gateway certificate +The gateway's certificate has expired\. → Replace/m,
    );
  });

  it('reports an untrusted proxy, and why emails wait', async () => {
    gateway.state.readiness = { status: 'ok', warnings: ['proxy'] };
    gateway.state.mailError = 'the mail server rejected the sign-in';
    expect(await examine()).toMatchObject({
      code: 1,
      fixes: {
        'gateway proxy': expect.stringContaining('TOLLGATE_GATEWAY_TRUST_PROXY'),
        notifications: expect.stringContaining('TOLLGATE_SMTP_'),
      },
    });
    Object.assign(gateway.state, { readiness: { status: 'ok' }, mailErrorOfOneRecipient: true });
    const { code, fixes } = await examine();
    expect([code, fixes]).toEqual([0, {}]);
    Object.assign(gateway.state, { mailError: '', mailErrorOfOneRecipient: false });
  });

  it('reports upstreams whose calls or last tests fail, except disabled ones and targets that the operator ejected', async () => {
    const { state } = gateway;
    const upstream = (id: string, enabled = true): Upstream => Upstream.fromPartial({ id, enabled });
    state.upstreams.push(upstream('acme'), upstream('off', false));
    const target = (upstreamId: string, upstreamModel: string, fields: Partial<TargetHealth>): TargetHealth =>
      TargetHealth.fromPartial({ upstreamId, upstreamModel, reason: 'upstream_rejected', ...fields });
    const [ejected, failing, cooling] = [
      TargetState.TARGET_STATE_EJECTED,
      TargetState.TARGET_STATE_FAILING,
      TargetState.TARGET_STATE_COOLING,
    ];
    state.targetHealth.push(
      target('acme', 'd', { state: cooling }),
      target('acme', 'e', { state: ejected, cause: EjectionCause.EJECTION_CAUSE_OPERATOR }),
      target('off', 'a', { state: ejected }),
    );
    const upstreams = async () =>
      jsonLines((await tollgate(gateway, ['doctor', '--json'])).stdout).find(({ check }) => check === 'upstreams');
    expect(await upstreams()).toMatchObject({ ok: true, detail: 'sandbox, acme enabled; disabled: off' });
    state.targetHealth.push(
      target('acme', 'a', { state: failing, instance: 'one' }),
      target('acme', 'a', { state: failing, instance: 'two' }),
      target('acme', 'b', { state: ejected, credentialId: 'second' }),
    );
    expect(await upstreams()).toMatchObject({
      ok: false,
      detail: 'Calls to 2 targets fail: a at acme (upstream_rejected), b at acme with the credential second (upstream_rejected).',
      fix: expect.stringContaining('tollgate upstream health'),
    });
    state.targetHealth.length = 0;
    state.upstreams[1]!.lastTest = UpstreamTest.fromPartial({ failedStep: 'authentication', startedAtMs: BigInt(testNowMs) });
    expect(await upstreams()).toMatchObject({
      ok: false,
      detail: 'The last test of acme failed at the step "authentication" at 2027-01-15 08:00:00Z.',
      fix: expect.stringContaining('tollgate upstream test acme'),
    });
  });

  it('reports that a gateway counts calls without Redis', async () => {
    gateway.state.readiness = { status: 'ok', warnings: ['redis'] };
    expect(await examine()).toMatchObject({ code: 1, fixes: { redis: expect.stringContaining('TOLLGATE_GATEWAY_REDIS_URL') } });
  });

  it('reports calls that wait in the spool, and files that an operator must handle', async () => {
    gateway.state.readiness = { status: 'ok', spool: { waiting: 3, refused: 0, damaged_files: 0 } };
    expect(await examine()).toMatchObject({ code: 0, checks: expect.arrayContaining(['spool']) });
    gateway.state.readiness = { status: 'ok', spool: { waiting: 0, refused: 2, damaged_files: 1 } };
    expect(await examine()).toMatchObject({ code: 1, fixes: { spool: expect.stringContaining('refused.jsonl') } });
  });

  it('names the service that is not ready', async () => {
    gateway.grpc.setServing(false);
    const { fixes } = await examine();
    expect(Object.keys(fixes)).toEqual(['auth', 'catalog', 'ledger', 'metering', 'inference']);
    expect(fixes['ledger']).toBe('Read the log of the ledger service to see what it waits for, such as its database.');
  });

  it.each([
    ['127.0.0.1:1', 'connect ECONNREFUSED 127.0.0.1:1'],
    ['nohost.invalid:7103', 'the name nohost.invalid:7103 cannot be resolved'],
  ])('says why the service at %s cannot be reached', async (address, why) => {
    const names = ['AUTH', 'CATALOG', 'LEDGER', 'METERING', 'INFERENCE'];
    const addresses = Object.fromEntries(names.map((name) => [`TOLLGATE_${name}_ADDRESS`, address]));
    const env = { TOLLGATE_GATEWAY_URL: gateway.env['TOLLGATE_GATEWAY_URL']!, ...addresses };
    const { stdout } = await tollgate(gateway, ['doctor'], { env });
    expect(stdout).toMatch(
      new RegExp(`FAIL +ledger +.*the service cannot be reached: ${why.replaceAll('.', '\\.')}\\.[^]*TOLLGATE_LEDGER_ADDRESS`),
    );
    const { stderr } = await tollgate(gateway, ['balance', 'show', '--account', `acct_${'0'.repeat(32)}`], { env });
    expect(stderr).toContain(`cannot be reached: ${why}.\nThe request was not sent.`);
  });

  it('does not advise running itself when a check needs a service that is unavailable', async () => {
    Object.defineProperty(gateway.state, 'verification', {
      get() {
        throw new AppError('service_unavailable', 'The ledger cannot reach its database.');
      },
    });
    expect((await examine()).fixes).toEqual({ books: expect.stringMatching(/^This check needs a service/) });
  });

  it('shows the last result and its age when the journal takes too long to verify', async () => {
    Object.defineProperty(gateway.state, 'verification', {
      get() {
        throw new AppError('deadline_exceeded', 'The ledger did not answer in time.');
      },
    });
    const books = async () => jsonLines((await tollgate(gateway, ['doctor', '--json'])).stdout).find(({ check }) => check === 'books');
    expect(await books()).toMatchObject({
      ok: false,
      detail: 'The journal has not been checked yet, and a new check takes longer than 20 s.',
    });
    const full = { finishedAtMs: BigInt(testNowMs - 300 * 60_000), accountsChecked: 2n, entriesChecked: 300_000n };
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({ full });
    const matched =
      /^balances matched the journal when it was checked 300 minutes ago: 300[,.]?000 entries in 2 accounts; a new check takes/;
    expect(await books()).toMatchObject({ ok: true, detail: expect.stringMatching(matched) });
    // A drift of the full run that the recent run did not find again is not current.
    const drifts = [{ check: DriftCheck.DRIFT_CHECK_BOOKS }, { check: DriftCheck.DRIFT_CHECK_TOTALS }];
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({ full: { ...full, drifts } });
    expect(await books()).toMatchObject({ ok: true });
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({ full, drifts });
    expect(await books()).toMatchObject({ ok: false, detail: 'The journal differed in 1 figure when it was last checked.' });
    const old = { ...full, finishedAtMs: BigInt(testNowMs - 49 * 3_600_000) };
    gateway.state.reconciliation = GetReconciliationResponse.fromPartial({ full: old });
    expect(await books()).toMatchObject({ ok: false, detail: expect.stringMatching(/^The journal was last checked at /) });
  });

  it('accepts a slash at the end of the address of the gateway', async () => {
    const env = { ...gateway.env, TOLLGATE_GATEWAY_URL: `${gateway.env['TOLLGATE_GATEWAY_URL']}/` };
    const { code, stdout } = await tollgate(gateway, ['doctor'], { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^ok +gateway +ready at /m)]);
  });

  it('reports that nothing is running', async () => {
    const { code, stdout } = await tollgate(gateway, ['doctor'], {
      env: { TOLLGATE_DATA_DIR: '/nonexistent', TOLLGATE_GATEWAY_URL: 'http://127.0.0.1:1' },
    });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^FAIL +connection +Tollgate is not running for \/nonexistent/m);
  });
});
