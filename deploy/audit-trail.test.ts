// Every RPC that makes a change relevant to an operator or an owner creates one audit event, and a repeated request creates none.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '#kit/id.js';
import { type Actor, callContext } from '#client/call-context.js';
import { eventually } from '#kit/testing/waiting.js';
import { accessTable } from '#proto/access.js';
import { CreateAccountRequest } from '#proto/auth/v1/auth.js';
import { type AuditEvent, ListAuditEventsRequest } from '#proto/auth/v1/users.js';
import { exampleModel } from '../services/catalog/testing/examples.js';
import { auditedCalls } from './testing/audited-calls.js';
import { startServices, type TestServices } from './testing/services.js';

/** Matches the names of RPCs that only read, by their first word. */
const reads = /^(Get|List|Find|Watch|Verify|Authenticate|Estimate|Count|Reconcile|Batch(?=.))/;

const isCall = 'Calls are recorded in the journal and the usage records.';

/** RPCs that change something without creating an event, with the reason. */
const unaudited: Readonly<Record<string, string>> = {
  'ledger.v1.LedgerService/Hold': isCall,
  'ledger.v1.LedgerService/Checkpoint': isCall,
  'ledger.v1.LedgerService/Settle': isCall,
  'ledger.v1.LedgerService/Release': isCall,
  'ledger.v1.LedgerService/Batch': isCall,
  'ledger.v1.LedgerService/ExpireHolds': isCall,
  'metering.v1.MeteringService/CheckpointUsage': isCall,
  'metering.v1.MeteringService/RecordUsage': isCall,
  'metering.v1.MeteringService/RecordRefusals': 'Refused calls are recorded by themselves.',
  'metering.v1.MeteringService/StorePromptLogs': isCall,
  'metering.v1.MeteringService/RefundUndeliveredAnswer': 'Metering calls Refund, which creates an event.',
  'metering.v1.MeteringService/Batch': isCall,
  'metering.v1.MeteringService/ReserveIdempotencyKey': isCall,
  'metering.v1.MeteringService/OfferCall': isCall,
  'metering.v1.MeteringService/JoinCall': isCall,
  'metering.v1.MeteringService/DeleteStoredParts': 'Deletes a response with the platform key that received it.',
  'metering.v1.MeteringService/ReleaseIdempotencyKey': isCall,
  'inference.v1.InferenceService/Generate': isCall,
  'ledger.v1.AlertService/AlertKeyRefused': 'It sends a notification, which ListNotifications shows.',
  'ledger.v1.PaymentService/BeginPayment': 'It changes nothing; the payment creates an account.credit event when it is completed.',
  'ledger.v1.PaymentService/RecordPaymentEvent': 'It calls Deposit and Adjust on behalf of the provider, which create events.',
  'auth.v1.CallerService/ReportCallersSeen': 'It does not change what a caller may do.',
  'auth.v1.UserService/SignIn': 'A session is shown by ListSessions.',
  'auth.v1.UserService/RedeemSignInLink': 'A session is shown by ListSessions; CreateSignInLink creates an event.',
  'auth.v1.UserService/BeginIdentitySignIn': 'It changes nothing.',
  'auth.v1.UserService/ConfirmPassword': 'It changes nothing but the time of the last authentication.',
  'auth.v1.UserService/FinishSignIn': 'A session is shown by ListSessions; a used recovery code creates an event.',
  'auth.v1.UserService/BeginPasskeySignIn': 'It changes nothing.',
  'auth.v1.UserService/BeginReauthentication': 'It changes nothing.',
  'auth.v1.UserService/Reauthenticate':
    'It changes nothing but the time of the last authentication; a used recovery code creates an event.',
  'auth.v1.UserService/BeginSecondFactor': 'It changes nothing until AddSecondFactor, which creates an event.',
  'auth.v1.UserService/RequestPasswordReset': 'It changes nothing until ResetPassword, which creates an event.',
  'auth.v1.UserService/AppendAuditEvents': 'It is the audit log.',
  'auth.v1.NotificationService/AppendNotifications': 'ListNotifications shows them; what causes them leaves its event.',
};

// Hashing a password takes a fifth of a second of CPU.
const slowTestMs = 60_000;
const operator = callContext({ caller: 'operator' });
describe('the audit trail', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services.stop());

  /** Returns all events, oldest first, once every outbox is empty. */
  async function trail(): Promise<AuditEvent[]> {
    const { auth: _auth, ...others } = services.databases;
    for (const [service, { knex }] of Object.entries(others)) {
      await eventually(async () =>
        Number((await knex(`${service}_audit_outbox`).count({ events: '*' }))[0]!['events']) === 0 ? true : undefined,
      );
    }
    const { events } = await services.users.listAuditEvents(ListAuditEventsRequest.fromPartial({ pageSize: 200 }), operator);
    return events.toSorted((a, b) => Number(a.number - b.number));
  }

  it('has a case or a reason for every RPC that is not a read', () => {
    const changing = Object.keys(accessTable)
      .map((name) => name.replace(/^tollgate\./, ''))
      .filter((name) => !reads.test(name.slice(name.indexOf('/') + 1)));
    const audited = auditedCalls(services).map(({ rpc }) => rpc);
    expect([...new Set([...audited, ...Object.keys(unaudited)])].toSorted()).toEqual(changing.toSorted());
    expect(audited.filter((rpc) => rpc in unaudited)).toEqual([]);
  });

  it(
    'has one event per change, with its actor, and none for a repeated request',
    async () => {
      for (const { rpc, action, by = 'operator CLI', prepare, call, isIdempotent = false } of auditedCalls(services)) {
        await prepare?.();
        const before = (await trail()).length;
        await call();
        const [event, ...more] = (await trail()).slice(before);
        expect([rpc, event?.action, event?.actorName, more.length]).toEqual([rpc, action, by, 0]);
        if (!isIdempotent) continue;
        const after = (await trail()).length;
        await call();
        expect([rpc, (await trail()).length - after]).toEqual([rpc, 0]);
      }
      const entries = await trail();
      expect(await services.users.verifyAuditLog({ number: 0n, hash: Buffer.alloc(0) }, operator)).toMatchObject({
        fault: '',
        lastNumber: BigInt(entries.length),
      });
      expect(JSON.stringify(entries, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))).not.toMatch(
        /sk-|correct horse/,
      );
    },
    slowTestMs,
  );

  it('names the user on whose behalf a process acts, with their address', async () => {
    const actor: Actor = {
      userId: newId('user'),
      sessionId: newId('sess'),
      email: 'grace@example.com',
      isOperator: true,
      roles: new Map(),
      projectRoles: new Map(),
      clientAddress: '192.0.2.44',
    };
    const before = (await trail()).length;
    await services.catalog.putModel(
      { model: exampleModel({ description: 'By Grace.' }) },
      { ...callContext({ caller: 'billing-team' }), actor },
    );
    await trail();
    await services.auth.createAccount(CreateAccountRequest.fromPartial({ name: 'Hers' }), {
      ...callContext({ caller: 'billing-team' }),
      actor,
    });
    expect((await trail()).slice(before)).toMatchObject(
      ['model.update', 'account.create'].map((action) => ({
        action,
        actorUserId: actor.userId,
        actorName: 'grace@example.com',
        clientAddress: '192.0.2.44',
        caller: 'billing-team',
      })),
    );
  });
});
