// The audit log gets what the operator's command did: no RPC that changes something may be left out.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { AuthServiceDefinition } from '#proto/auth/v1/auth.js';
import { UserServiceDefinition } from '#proto/auth/v1/users.js';
import { CatalogServiceDefinition } from '#proto/catalog/v1/catalog.js';
import { InferenceServiceDefinition } from '#proto/inference/v1/inference.js';
import { AlertServiceDefinition } from '#proto/ledger/v1/alerts.js';
import { LedgerServiceDefinition } from '#proto/ledger/v1/ledger.js';
import { MeteringServiceDefinition } from '#proto/metering/v1/metering.js';
import { AppError } from '#client/errors/app-error.js';
import { deeds } from './deeds.js';
import { type FakeGateway, startFakeGateway } from './testing/fake-gateway.js';
import { tollgate } from './testing/tollgate.js';

const definitions = {
  auth: AuthServiceDefinition,
  users: UserServiceDefinition,
  catalog: CatalogServiceDefinition,
  ledger: LedgerServiceDefinition,
  alerts: AlertServiceDefinition,
  metering: MeteringServiceDefinition,
  inference: InferenceServiceDefinition,
};

/** What changes nothing. */
const reads = /^(get|batchGet|find|list|watch|verify|authenticate|estimate|count|reconcile$)/;
/** What calls and the gateway do, or people for themselves; the command has no use for it. */
const ofOthers = new Set([
  'hold',
  'checkpoint',
  'settle',
  'release',
  'expireHolds',
  'batch',
  'checkpointUsage',
  'recordUsage',
  'reserveIdempotencyKey',
  'releaseIdempotencyKey',
  'generate',
  'setPassword',
  'updateProfile',
  'confirmPassword',
  'signUp',
  'signInWithIdentity',
  'connectIdentity',
  'disconnectIdentity',
  'signIn',
  'redeemSignInLink',
  'createInvitation',
  'revokeInvitation',
  'acceptInvitation',
  'requestPasswordReset',
  'resetPassword',
  'appendAudit',
  'appendAuditEvents',
]);

describe('the operator’s command', () => {
  let gateway: FakeGateway;
  beforeEach(async () => {
    gateway = await startFakeGateway();
  });
  afterEach(() => gateway.stop());

  it.each(Object.entries(definitions))('notes every change of %s', (name, definition) => {
    const changes = Object.keys(definition.methods).filter((method) => !reads.test(method) && !ofOthers.has(method));
    expect(Object.keys(deeds[name as keyof typeof deeds]).toSorted()).toEqual(changes.toSorted());
  });

  it('notes each deed once, and repeats not at all', async () => {
    await tollgate(gateway, ['account', 'create', 'Acme']);
    const { id } = gateway.state.accounts[0]!;
    for (let repeat = 0; repeat < 2; repeat += 1)
      await tollgate(gateway, ['balance', 'deposit', '5', '--reason', 'paid', '--idempotency-key', 'k']);
    await tollgate(gateway, ['account', 'rename', id, 'Acme Ltd']);
    expect(
      gateway.state.audit.map(({ action, actorName, accountId, detailJson }) => [action, actorName, accountId, JSON.parse(detailJson)]),
    ).toEqual([
      ['account.create', 'operator CLI', id, { name: 'Acme' }],
      [
        'account.credit',
        'operator CLI',
        id,
        { amount_usd: '5', reason: 'paid', source: 'cash', before: { available_usd: '0' }, after: { available_usd: '5' } },
      ],
      ['account.rename', 'operator CLI', id, { before: { name: 'Acme' }, after: { name: 'Acme Ltd' } }],
    ]);
  });

  it('does what it was told when the note is lost, and says so', async () => {
    gateway.state.auditFault = new AppError('service_unavailable', 'The log is away.');
    const made = await tollgate(gateway, ['account', 'create', 'Acme']);
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining('could not be noted in the audit log: The log is away.') });
    expect(gateway.state.accounts).toHaveLength(1);
  });
});
