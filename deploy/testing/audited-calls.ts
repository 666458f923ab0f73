// A call of every RPC that creates an audit event.
import { randomBytes } from 'node:crypto';
import { generateSync } from 'otplib';
import { newId } from '#kit/id.js';
import { type CallContext, callContext } from '#client/call-context.js';
import { eventually } from '#kit/testing/waiting.js';
import {
  AccountState,
  CreateAccountRequest,
  CreateKeyRequest,
  CreateProjectRequest,
  UpdateAccountRequest,
  UpdateKeyRequest,
  UpdateProjectRequest,
} from '#proto/auth/v1/auth.js';
import { CreateCallerRequest, UpdateCallerRequest } from '#proto/auth/v1/callers.js';
import {
  CreateManagementKeyRequest,
  CreateUserRequest,
  RevokeSessionsRequest,
  Role,
  SecondFactorKind,
  UpdateProfileRequest,
  UpdateUserRequest,
} from '#proto/auth/v1/users.js';
import { defaultProjectId } from '#rules/default-project.js';
import { ModelState } from '#proto/catalog/v1/catalog.js';
import { ApiFormat, OverrideMode, Upstream } from '#proto/inference/v1/inference.js';
import { PutAlertRequest } from '#proto/ledger/v1/alerts.js';
import {
  CreateRedemptionCodesRequest,
  DepositSource,
  HoldRequest,
  RefundRequest,
  ReverseRequest,
  SettleRequest,
} from '#proto/ledger/v1/ledger.js';
import { StorePromptLogsRequest } from '#proto/metering/v1/metering.js';
import { pauseDeliveries } from '../../services/auth/index.js';
import { identityResponse } from '../../services/auth/testing/auth.js';
import { exampleModel, examplePrice } from '../../services/catalog/testing/examples.js';
import type { TestServices } from './services.js';

const operator = callContext({ caller: 'operator' });
const password = 'correct horse battery';
const client = { address: '192.0.2.9', userAgent: 'test' };

/** A call of an RPC, and the event that it creates. */
export interface AuditedCall {
  /** For example "auth.v1.AuthService/CreateKey". */
  readonly rpc: string;
  readonly action: string;
  /** The actor, if the request itself identifies them; the operator if absent. */
  readonly by?: string;
  /** Creates what the call needs. */
  prepare?(): Promise<void>;
  call(): Promise<unknown>;
  /** Set if repeating the call changes nothing. If absent, a repeated call fails or makes another change. */
  readonly isIdempotent?: true;
}

/** Returns a call of each RPC that creates an event, ordered so that each call finds what it needs. */
export function auditedCalls(services: TestServices): AuditedCall[] {
  const { auth, callers, users, webhooks, catalog, ledger, alerts, metering, inference } = services;
  const made = {
    accountId: '',
    projectId: '',
    keyId: '',
    userId: '',
    session: '',
    identity: '',
    factor: '',
    invitation: '',
    managementKey: '',
    token: '',
    draft: 0n,
    version: 0n,
    holdId: newId('req'),
    // Set by Refund.
    refundEntryId: '',
    code: '',
    endpoint: '',
    delivery: '',
  };
  const batchId = newId('batch');
  const claims = (subject: string, email: string) => ({
    issuer: 'https://id.example.com',
    subject,
    email,
    emailVerified: true,
    name: 'Somebody',
  });
  const refused = (callId: string) =>
    services.databases.metering.knex('outbox').insert({
      id: Buffer.from(callId.slice(4), 'hex'),
      account_id: Buffer.from(made.accountId.slice(5), 'hex'),
      key_id: Buffer.from(made.keyId.slice(4), 'hex'),
      charge_nano_usd: 5,
      state: 1,
      attempts: 1,
      next_attempt_at_ms: 0,
      created_at_ms: 1,
      last_error: 'refused',
    });
  const developer = (): CallContext => ({
    ...callContext({ caller: 'gateway' }),
    actor: {
      userId: newId('user'),
      sessionId: newId('sess'),
      email: 'developer@example.com',
      isOperator: false,
      roles: new Map([[made.accountId, 'developer']]),
      projectRoles: new Map(),
      clientAddress: client.address,
    },
  });
  const logged = async (): Promise<{ accountId: string; callId: string }> => {
    const call = { accountId: made.accountId, callId: newId('req') };
    const entry = { ...call, projectId: made.projectId, startedAtMs: BigInt(Date.now()), days: 1, log: {} };
    await metering.storePromptLogs(StorePromptLogsRequest.fromPartial({ entries: [entry] }));
    return call;
  };
  const addFactor = async (): Promise<void> => {
    const { signedIn } = await users.signIn({ email: 'bob@example.com', password: `${password} 3`, client }, operator);
    const sessionId = signedIn!.session!.id;
    const { enrolment, setup } = await users.beginSecondFactor({ sessionId, kind: SecondFactorKind.SECOND_FACTOR_KIND_TOTP }, operator);
    const secret = new URL(setup!.value).searchParams.get('secret')!;
    const proof = { $case: 'totpCode', value: generateSync({ secret }) } as const;
    made.session = sessionId;
    made.factor = (await users.addSecondFactor({ sessionId, enrolment, name: 'Phone', proof, language: '' }, operator)).factor!.id;
  };
  const certificate = () => ({ sha256: randomBytes(32), expiresAtMs: BigInt(Date.now() + 86_400_000) });
  const once = { isIdempotent: true } as const;
  const upstream = (enabled: boolean): Upstream =>
    Upstream.fromPartial({ id: 'acme', apiFormat: ApiFormat.API_FORMAT_MESSAGES, baseUrl: 'https://api.example.com', enabled });
  const of =
    (service: string) =>
    (rpc: string, action: string, call: () => Promise<unknown>, more: Partial<AuditedCall> = {}): AuditedCall => ({
      rpc: `${service}/${rpc}`,
      action,
      call,
      ...more,
    });
  const ofAuth = of('auth.v1.AuthService');
  const ofCallers = of('auth.v1.CallerService');
  const ofUsers = of('auth.v1.UserService');
  const ofCatalog = of('catalog.v1.CatalogService');
  const ofLedger = of('ledger.v1.LedgerService');
  const ofAlerts = of('ledger.v1.AlertService');
  const ofWebhooks = of('auth.v1.WebhookService');
  const ofMetering = of('metering.v1.MeteringService');
  const ofInference = of('inference.v1.InferenceService');
  return [
    ofAuth('RecordBackup', 'installation.backup', () => auth.recordBackup({}, operator)),
    of('auth.v1.NotificationService')(
      'ResumeDeliveries',
      'deliveries.resume',
      () => services.notifications.resumeDeliveries({ withdrawPending: false }, operator),
      { ...once, prepare: () => pauseDeliveries(services.databases.auth, Date.now()) },
    ),
    ofAuth(
      'CreateAccount',
      'account.create',
      async () => {
        made.accountId = (
          await auth.createAccount(CreateAccountRequest.fromPartial({ name: 'Acme', idempotencyKey: 'a' }), operator)
        ).account!.id;
      },
      once,
    ),
    ofAuth(
      'UpdateAccount',
      'account.rename',
      () =>
        auth.updateAccount(
          UpdateAccountRequest.fromPartial({ accountId: made.accountId, name: 'Acme Ltd', updateMask: ['name'] }),
          operator,
        ),
      once,
    ),
    ofAuth(
      'UpdateAccount',
      'account.suspend',
      () =>
        auth.updateAccount(
          UpdateAccountRequest.fromPartial({
            accountId: made.accountId,
            state: AccountState.ACCOUNT_STATE_SUSPENDED,
            stateReason: 'unpaid',
            updateMask: ['state', 'state_reason'],
          }),
          operator,
        ),
      once,
    ),
    ofAuth(
      'UpdateAccount',
      'account.resume',
      () =>
        auth.updateAccount(
          UpdateAccountRequest.fromPartial({ accountId: made.accountId, state: AccountState.ACCOUNT_STATE_ACTIVE, updateMask: ['state'] }),
          operator,
        ),
      once,
    ),
    ofAuth(
      'UpdateAccountBudgets',
      'account.update',
      () =>
        auth.updateAccountBudgets(
          { accountId: made.accountId, budgets: [], timeZone: 'Europe/Berlin', updateMask: ['time_zone'] },
          operator,
        ),
      once,
    ),
    ofAuth(
      'UpdateAccountPrivacy',
      'account.update',
      () => auth.updateAccountPrivacy({ accountId: made.accountId, neverLogPrompts: true }, operator),
      once,
    ),
    ofAuth(
      'UpdateAccountSecurity',
      'account.update',
      () => auth.updateAccountSecurity({ accountId: made.accountId, requireSecondFactor: true }, operator),
      once,
    ),
    ofAuth(
      'CreateProject',
      'project.create',
      async () => {
        const request = CreateProjectRequest.fromPartial({ accountId: made.accountId, name: 'Search', idempotencyKey: 'p' });
        made.projectId = (await auth.createProject(request, operator)).project!.id;
      },
      once,
    ),
    ofAuth(
      'UpdateProject',
      'project.update',
      () =>
        auth.updateProject(
          UpdateProjectRequest.fromPartial({ accountId: made.accountId, projectId: made.projectId, name: 'Find', updateMask: ['name'] }),
          operator,
        ),
      once,
    ),
    ofAuth(
      'DeleteProject',
      'project.delete',
      () => auth.deleteProject({ accountId: made.accountId, projectId: made.projectId }, operator),
      once,
    ),
    ofAuth(
      'CreateKey',
      'key.create',
      async () => {
        made.keyId = (
          await auth.createKey(CreateKeyRequest.fromPartial({ accountId: made.accountId, name: 'server', idempotencyKey: 'k' }), operator)
        ).key!.id;
      },
      once,
    ),
    ofAuth(
      'UpdateKey',
      'key.update',
      () =>
        auth.updateKey(
          UpdateKeyRequest.fromPartial({ accountId: made.accountId, keyId: made.keyId, name: 'api server', updateMask: ['name'] }),
          operator,
        ),
      once,
    ),
    ofAuth('RotateKey', 'key.rotate', () => auth.rotateKey({ accountId: made.accountId, keyId: made.keyId, overlapMs: 0 }, operator)),
    ofAuth('RevokeKey', 'key.revoke', () => auth.revokeKey({ accountId: made.accountId, keyId: made.keyId }, operator), once),

    ofCallers('CreateCaller', 'caller.create', async () => {
      const request = { name: 'billing-team', grants: ['ledger.read'], certificate: certificate() };
      made.version = (await callers.createCaller(CreateCallerRequest.fromPartial(request), operator)).caller!.version;
    }),
    ofCallers('UpdateCaller', 'caller.update', () =>
      callers.updateCaller(
        UpdateCallerRequest.fromPartial({ name: 'billing-team', grants: ['metering.read'], version: made.version }),
        operator,
      ),
    ),
    ofCallers('RotateCaller', 'caller.rotate', () =>
      callers.rotateCaller({ name: 'billing-team', certificate: certificate(), overlapMs: 0 }, operator),
    ),
    ofCallers('RevokeCaller', 'caller.revoke', () => callers.revokeCaller({ name: 'billing-team' }, operator), once),

    ofUsers('CreateUser', 'user.create', async () => {
      const request = CreateUserRequest.fromPartial({ email: 'ada@example.com', name: 'Ada', password });
      made.userId = (await users.createUser(request, operator)).user!.id;
    }),
    ofUsers(
      'UpdateUser',
      'user.update',
      () => users.updateUser(UpdateUserRequest.fromPartial({ userId: made.userId, name: 'Ada L', updateMask: ['name'] }), operator),
      once,
    ),
    ofUsers(
      'PutMember',
      'member.put',
      () => users.putMember({ accountId: made.accountId, userId: made.userId, role: Role.ROLE_OWNER }, operator),
      once,
    ),
    ofUsers(
      'PutProjectMember',
      'member.project',
      () =>
        users.putProjectMember(
          { accountId: made.accountId, projectId: defaultProjectId(made.accountId), userId: made.userId, role: Role.ROLE_VIEWER },
          operator,
        ),
      once,
    ),
    ofUsers('CreateManagementKey', 'management_key.create', async () => {
      const { accountId, userId } = made;
      const request = CreateManagementKeyRequest.fromPartial({ accountId, userId, name: 'CI', scopes: ['keys:read'] });
      made.managementKey = (await users.createManagementKey(request, operator)).key!.id;
    }),
    ofUsers(
      'RevokeManagementKey',
      'management_key.revoke',
      () => users.revokeManagementKey({ accountId: made.accountId, keyId: made.managementKey }, operator),
      once,
    ),
    ofUsers('CreateInvitation', 'member.invite', async () => {
      const request = {
        accountId: made.accountId,
        email: 'eve@example.com',
        role: Role.ROLE_VIEWER,
        invitedByUserId: made.userId,
        projectRoles: [],
        language: '',
      };
      const { invitation, token } = await users.createInvitation(request, operator);
      made.invitation = invitation!.id;
      made.token = token;
    }),
    ofUsers('RevokeInvitation', 'member.uninvite', () =>
      users.revokeInvitation({ accountId: made.accountId, invitationId: made.invitation }, operator),
    ),
    ofUsers(
      'AcceptInvitation',
      'member.accept',
      async () => {
        const { signedIn } = await users.acceptInvitation({ token: made.token, name: 'Bob', password, client, sessionId: '' }, operator);
        made.session = signedIn!.session!.id;
        made.userId = signedIn!.user!.id;
      },
      {
        by: 'bob@example.com',
        async prepare() {
          const request = {
            accountId: made.accountId,
            email: 'bob@example.com',
            role: Role.ROLE_VIEWER,
            invitedByUserId: made.userId,
            projectRoles: [],
            language: '',
          };
          made.token = (await users.createInvitation(request, operator)).token;
        },
      },
    ),
    ofUsers(
      'UpdateProfile',
      'profile.update',
      () =>
        users.updateProfile(UpdateProfileRequest.fromPartial({ sessionId: made.session, name: 'Robert', updateMask: ['name'] }), operator),
      { by: 'bob@example.com', ...once },
    ),
    ofUsers(
      'ConfirmEmail',
      'profile.update',
      () => users.confirmEmail({ sessionId: made.session, token: made.token, language: '' }, operator),
      {
        by: 'robert@example.com',
        async prepare() {
          const [email, before] = ['bob@example.com', 'robert@example.com'];
          await users.updateUser(UpdateUserRequest.fromPartial({ userId: made.userId, email: before, updateMask: ['email'] }), operator);
          const change = { sessionId: made.session, email, currentPassword: password, updateMask: ['email'] };
          await users.updateProfile(UpdateProfileRequest.fromPartial(change), operator);
          const mail = await eventually(() => services.mails.find(({ to, text }) => to === email && text.includes('/email#')));
          made.token = /\/email#(\S+)/.exec(mail.text)![1]!;
        },
      },
    ),
    ofUsers(
      'SetPassword',
      'profile.password',
      () => users.setPassword({ sessionId: made.session, currentPassword: password, newPassword: `${password} 2` }, operator),
      { by: 'bob@example.com' },
    ),
    ofUsers(
      'ConnectIdentity',
      'profile.connect',
      async () => {
        const request = { sessionId: made.session, response: identityResponse(claims('bob', 'bob@example.com')) };
        made.identity = (await users.connectIdentity(request, operator)).identity!.id;
      },
      { by: 'bob@example.com', ...once },
    ),
    ofUsers(
      'DisconnectIdentity',
      'profile.disconnect',
      () => users.disconnectIdentity({ sessionId: made.session, identityId: made.identity }, operator),
      { by: 'bob@example.com' },
    ),
    ofUsers('CreateSignInLink', 'user.link', () =>
      users.createSignInLink({ email: 'bob@example.com', sendMail: false, language: '' }, operator),
    ),
    ofUsers(
      'RevokeSessions',
      'user.end_sessions',
      () => users.revokeSessions(RevokeSessionsRequest.fromPartial({ userId: made.userId }), operator),
      once,
    ),
    ofUsers(
      'ResetPassword',
      'profile.password_reset',
      async () => {
        await users.requestPasswordReset({ email: 'bob@example.com', client, language: '' }, operator);
        const mail = await eventually(() => services.mails.find(({ to, text }) => to === 'bob@example.com' && text.includes('/reset#')));
        const token = /\/reset#(\S+)/.exec(mail.text)![1]!;
        await users.resetPassword({ token, newPassword: `${password} 3`, client, sessionId: '' }, operator);
      },
      { by: 'bob@example.com' },
    ),
    ofUsers('AddSecondFactor', 'profile.add_factor', addFactor, { by: 'bob@example.com' }),
    ofUsers(
      'CreateRecoveryCodes',
      'profile.recovery_codes',
      () => users.createRecoveryCodes({ sessionId: made.session, language: '' }, operator),
      {
        by: 'bob@example.com',
      },
    ),
    ofUsers(
      'RenameSecondFactor',
      'profile.rename_factor',
      () => users.renameSecondFactor({ sessionId: made.session, factorId: made.factor, name: 'Work phone' }, operator),
      { by: 'bob@example.com' },
    ),
    ofUsers(
      'RemoveSecondFactor',
      'profile.remove_factor',
      () => users.removeSecondFactor({ sessionId: made.session, factorId: made.factor, language: '' }, operator),
      { by: 'bob@example.com' },
    ),
    ofUsers('ResetSecondFactors', 'user.reset_factors', () => users.resetSecondFactors({ userId: made.userId, language: '' }, operator), {
      prepare: addFactor,
      ...once,
    }),
    ofUsers('DeleteMember', 'member.remove', () => users.deleteMember({ accountId: made.accountId, userId: made.userId }, operator)),
    ofUsers(
      'SignUp',
      'account.sign_up',
      async () => {
        await users.signUp(
          { email: 'zoe@example.com', name: 'Zoe', password, accountName: 'Zoe', client, token: '', language: '' },
          operator,
        );
        const mail = await eventually(() => services.mails.find(({ to }) => to === 'zoe@example.com'));
        const token = /\/sign-up#(\S+)/.exec(mail.text)![1]!;
        await users.signUp({ email: '', name: '', password, accountName: '', client, token, language: '' }, operator);
      },
      { by: 'zoe@example.com' },
    ),
    ofUsers(
      'SignInWithIdentity',
      'account.sign_up',
      () => users.signInWithIdentity({ response: identityResponse(claims('new', 'new@example.com')), client }, operator),
      { by: 'new@example.com', ...once },
    ),
    ofUsers(
      'SignInWithIdentity',
      'profile.connect',
      () => users.signInWithIdentity({ response: identityResponse(claims('ada', 'ada@example.com')), client }, operator),
      { by: 'ada@example.com', ...once },
    ),

    ofCatalog('PutModel', 'model.create', () => catalog.putModel({ model: exampleModel() }, operator), once),
    ofCatalog('PutModel', 'model.update', () => catalog.putModel({ model: exampleModel({ description: 'Smaller.' }) }, operator), once),
    ofCatalog(
      'PauseModel',
      'model.pause',
      () => catalog.pauseModel({ modelId: 'acme/small', untilMs: 0n, reason: 'Maintenance' }, operator),
      once,
    ),
    ofCatalog('ResumeModel', 'model.resume', () => catalog.resumeModel({ modelId: 'acme/small' }, operator), once),
    ofCatalog(
      'PublishPrice',
      'price.publish',
      () => catalog.publishPrice({ price: examplePrice({ effectiveFromMs: BigInt(Date.UTC(2100, 0)) }) }, operator),
      once,
    ),
    ofCatalog('PutPriceDraft', 'price.draft', () => catalog.putPriceDraft({ price: examplePrice(), author: 'ada' }, operator)),
    ofCatalog('DeletePriceDraft', 'price.discard', () => catalog.deletePriceDraft({ modelId: 'acme/small' }, operator)),
    ofCatalog(
      'PublishPriceDraft',
      'price.publish',
      () => catalog.publishPriceDraft({ modelId: 'acme/small', version: made.draft }, operator),
      {
        ...once,
        async prepare() {
          made.draft = (await catalog.putPriceDraft({ price: examplePrice(), author: 'ada' }, operator)).draft!.version;
        },
      },
    ),
    ofCatalog(
      'PutModel',
      'model.retire',
      () => catalog.putModel({ model: exampleModel({ description: 'Smaller.', state: ModelState.MODEL_STATE_RETIRED }) }, operator),
      once,
    ),

    ofLedger(
      'Deposit',
      'account.credit',
      () =>
        ledger.deposit(
          {
            idempotencyKey: 'd',
            accountId: made.accountId,
            amountNanoUsd: 5_000_000_000n,
            source: DepositSource.DEPOSIT_SOURCE_CASH,
            reason: 'paid',
          },
          operator,
        ),
      once,
    ),
    ofLedger(
      'Adjust',
      'account.debit',
      () =>
        ledger.adjust(
          { idempotencyKey: 'j', accountId: made.accountId, amountNanoUsd: -1_000_000_000n, reason: 'too much', linkedEntryId: '' },
          operator,
        ),
      once,
    ),
    ofLedger(
      'Refund',
      'account.reverse',
      async () => {
        const { accountId, keyId, holdId } = made;
        const hold = { holdId, accountId, keyId, amountNanoUsd: 100n, minAmountNanoUsd: 100n, ttlMs: 60_000, keyLimit: { version: 1n } };
        await ledger.hold(HoldRequest.fromPartial(hold), operator);
        await ledger.settle(SettleRequest.fromPartial({ holdId, accountId, keyId, costNanoUsd: 60n }), operator);
        const { entry } = await ledger.refund(
          RefundRequest.fromPartial({ idempotencyKey: 'r', accountId, holdId, reason: 'kindness' }),
          operator,
        );
        made.refundEntryId = entry!.id;
      },
      once,
    ),
    ofLedger(
      'Reverse',
      'account.reverse',
      () => {
        const { accountId, refundEntryId: entryId } = made;
        return ledger.reverse(ReverseRequest.fromPartial({ idempotencyKey: 'v', accountId, entryId, reason: 'wrong call' }), operator);
      },
      once,
    ),
    ofLedger(
      'CreateRedemptionCodes',
      'code.create',
      async () => {
        const request = CreateRedemptionCodesRequest.fromPartial({
          batchId,
          amountNanoUsd: 50n,
          count: 2,
          note: 'fair',
          createdBy: 'ada',
        });
        made.code = (await ledger.createRedemptionCodes(request, operator)).secrets[0] ?? made.code;
      },
      once,
    ),
    ofLedger('RedeemCode', 'code.redeem', () => ledger.redeemCode({ accountId: made.accountId, secret: made.code }, operator), once),
    ofLedger('VoidRedemptionCodes', 'code.void', () => ledger.voidRedemptionCodes({ id: batchId }, operator), once),
    ofAlerts('PutAlert', 'alert.put', () =>
      alerts.putAlert(
        PutAlertRequest.fromPartial({ accountId: made.accountId, enabled: true, thresholdNanoUsd: 1n, emails: ['ada@example.com'] }),
        operator,
      ),
    ),
    ofAlerts('TestAlert', 'alert.test', () => alerts.testAlert({ accountId: made.accountId }, operator)),

    ofMetering('ReadPromptLog', 'prompt_log.read', async () => metering.readPromptLog(await logged(), developer()), {
      by: 'developer@example.com',
    }),
    ofMetering('DeletePromptLog', 'prompt_log.delete', async () => metering.deletePromptLog(await logged(), developer()), {
      by: 'developer@example.com',
    }),
    ofWebhooks('CreateWebhookEndpoint', 'webhook.create', async () => {
      const settings = { url: 'https://[2001:db8::1]/hook', description: '', eventTypes: ['key.refused'], language: '' };
      made.endpoint = (await webhooks.createWebhookEndpoint({ accountId: made.accountId, ...settings }, operator)).endpoint!.id;
    }),
    ofWebhooks('UpdateWebhookEndpoint', 'webhook.update', async () => {
      const settings = {
        url: 'https://[2001:db8::1]/hook',
        description: newId('req'),
        eventTypes: ['key.refused'],
        enabled: true,
        language: '',
      };
      await webhooks.updateWebhookEndpoint({ accountId: made.accountId, endpointId: made.endpoint, ...settings }, operator);
    }),
    ofWebhooks('RotateWebhookSecret', 'webhook.rotate', () =>
      webhooks.rotateWebhookSecret({ accountId: made.accountId, endpointId: made.endpoint, overlapSeconds: 60 }, operator),
    ),
    ofWebhooks('SendTestEvent', 'webhook.test', async () => {
      const request = { accountId: made.accountId, endpointId: made.endpoint, eventType: 'key.refused' };
      made.delivery = (await webhooks.sendTestEvent(request, operator)).delivery!.id;
    }),
    ofWebhooks('ResendWebhookDelivery', 'webhook.resend', () =>
      webhooks.resendWebhookDelivery({ accountId: made.accountId, deliveryId: made.delivery }, operator),
    ),
    ofWebhooks('DeleteWebhookEndpoint', 'webhook.delete', () =>
      webhooks.deleteWebhookEndpoint({ accountId: made.accountId, endpointId: made.endpoint }, operator),
    ),

    ofMetering('CloseSettlement', 'settlement.close', async () => {
      const callId = newId('req');
      await refused(callId);
      await metering.closeSettlement({ callId, reason: 'lost' }, operator);
    }),
    ofMetering('RetrySettlement', 'settlement.retry', async () => {
      const callId = newId('req');
      await refused(callId);
      await metering.retrySettlement({ callId }, operator);
    }),

    ofInference(
      'PutUpstream',
      'upstream.create',
      () => inference.putUpstream({ upstream: upstream(true), secret: undefined }, operator),
      once,
    ),
    ofInference('PutUpstream', 'upstream.update', () =>
      inference.putUpstream({ upstream: upstream(false), secret: 'sk-upstream-secret' }, operator),
    ),
    ofInference('TestUpstream', 'upstream.test', () =>
      inference.testUpstream({ upstreamId: 'sandbox', upstreamModel: undefined, probes: [] }, operator),
    ),
    ofInference('OverrideTarget', 'upstream.override', () =>
      inference.overrideTarget(
        { upstreamId: 'sandbox', upstreamModel: 'echo', credentialId: '', mode: OverrideMode.OVERRIDE_MODE_RETURN, ejectForMs: 0 },
        operator,
      ),
    ),
    ofInference('PutCredential', 'upstream.credential', () =>
      inference.putCredential({ upstreamId: 'acme', credentialId: 'second', secret: 'sk-of-the-second' }, operator),
    ),
    ofInference('DeleteCredential', 'upstream.credential', () =>
      inference.deleteCredential({ upstreamId: 'acme', credentialId: 'second' }, operator),
    ),
    ofInference('DeleteUpstream', 'upstream.delete', () => inference.deleteUpstream({ upstreamId: 'acme' }, operator)),
  ];
}
