// A gateway for tests of the CLI: the real contracts over the kit's real gRPC, with small in-memory services.
import { createServer, type Server } from 'node:http';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimAdminSocket } from '#kit/process/admin-socket.js';
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { newId } from '#kit/id.js';
import type { CallContext } from '#client/call-context.js';
import { type GrpcServer, serveGrpc } from '#kit/rpc/grpc/grpc-server.js';
import { silentLog } from '#kit/testing/log.js';
import {
  Account,
  AccountState,
  AuthServiceDefinition,
  type CreateAccountRequest,
  type CreateKeyRequest,
  type CreateProjectRequest,
  Key,
  KeyState,
  type ListKeysRequest,
  Project,
  type UpdateAccountBudgetsRequest,
  type UpdateAccountRequest,
  type UpdateKeyRequest,
  type UpdateProjectRequest,
} from '#proto/auth/v1/auth.js';
import type { Budget } from '#proto/budget/v1/budget.js';
import { Notification, NotificationChannel, NotificationServiceDefinition, NotificationState } from '#proto/auth/v1/notifications.js';
import {
  type AuditRestore,
  CreateSignInLinkResponse,
  type ListUsersRequest,
  type User,
  UserServiceDefinition,
  VerifyAuditLogResponse,
} from '#proto/auth/v1/users.js';
import { CatalogServiceDefinition, Model, PriceVersion } from '#proto/catalog/v1/catalog.js';
import {
  type CapabilityProbe,
  InferenceServiceDefinition,
  type OverrideTargetRequest,
  type PutCredentialRequest,
  type TargetHealth,
  TargetOverride,
  type TestUpstreamRequest,
  Upstream,
  type UpstreamModel,
  UpstreamTest,
} from '#proto/inference/v1/inference.js';
import { AlertServiceDefinition, GetAlertResponse, type PutAlertRequest } from '#proto/ledger/v1/alerts.js';
import {
  type AdjustRequest,
  Balance,
  BookAccount,
  type CreateRedemptionCodesRequest,
  type DepositRequest,
  Entry,
  EntryKind,
  Hold,
  LedgerServiceDefinition,
  type ListBudgetSpendRequest,
  type ListOpenHoldsRequest,
  RedemptionCode,
  RedemptionCodeState,
  type RefundRequest,
  type ReverseRequest,
  type Statement,
  VerifyResponse,
} from '#proto/ledger/v1/ledger.js';
import {
  type CloseSettlementRequest,
  type Drift,
  GetOutboxResponse,
  GetReconciliationResponse,
  type GetRefusalTotalsRequest,
  GetRefusalTotalsResponse,
  type GetUsageTotalsRequest,
  GetUsageTotalsResponse,
  type ListRefusalsRequest,
  type ListUsageRecordsRequest,
  MeteringServiceDefinition,
  type Refusal,
  type UnsettledCharge,
  UnsettledState,
  type UsageRecord,
} from '#proto/metering/v1/metering.js';
import { webhookBody } from '#rules/webhook-events.js';
import { ProcessInfo } from '#proto/process/v1/process.js';
import { close, listen } from '#kit/testing/local-server.js';

/** The current time in all tests of the CLI. */
export const testNowMs = 1_800_000_000_000;

/** The state of the fake services; tests read and change it. */
class FakeState {
  readonly accounts: Account[] = [];
  readonly projects: Project[] = [];
  readonly keys: Key[] = [];
  readonly entries: Entry[] = [];
  readonly models: Model[] = [];
  /** Of models without a price in force. */
  readonly scheduledPrices: PriceVersion[] = [];
  readonly upstreams: Upstream[] = [];
  readonly targetHealth: TargetHealth[] = [];
  listedModels: UpstreamModel[] = [];
  /** The capabilities that the last test of an upstream was to check. */
  probes: CapabilityProbe[] = [];
  /** Secrets by upstream id. */
  readonly secrets = new Map<string, string>();
  /** The result of testing any upstream. */
  upstreamTest = UpstreamTest.fromPartial({});
  records: UsageRecord[] = [];
  verification = VerifyResponse.fromPartial({});
  outbox = GetOutboxResponse.fromPartial({});
  reconciliation = GetReconciliationResponse.fromPartial({});
  /** The findings of a reconcile, one for each part. */
  drifts: Drift[] = [];
  charges: UnsettledCharge[] = [];
  /** The response of the gateway's HTTP server. */
  readiness: object = { status: 'ok' };
  /** The time on its clock. */
  nowMs = testNowMs;
  /** Every caller's name. */
  readonly callers = new Set<string>();
  readonly statements: Statement[] = [];
  readonly codes: RedemptionCode[] = [];
  /** Thrown when codes are created. */
  codesFault: AppError | undefined;
  /** Thrown instead of returning balances, or what keys have spent. */
  balancesFault: AppError | undefined;
  /** Thrown instead of returning the activity of keys. */
  activityFault: AppError | undefined;
  /** Thrown by the next deposit after it was booked. */
  depositFault: AppError | undefined;
  /** Thrown instead of returning an account. */
  accountFault?: AppError;
  /** The fault in the audit log. */
  auditDrift = '';
  auditLast = { number: 0n, hash: Buffer.alloc(0) };
  auditRestore: AuditRestore | undefined;
  readonly users: User[] = [];
  lastRecordsRequest: ListUsageRecordsRequest | undefined;
  lastTotalsRequest: GetUsageTotalsRequest | undefined;
  totals = GetUsageTotalsResponse.fromPartial({
    groups: [{ name: '2027-01-15', thenName: 'sandbox/echo', calls: 2n, chargeNanoUsd: 12_000n }],
  });
  refusals: Refusal[] = [];
  lastRefusalsRequest: ListRefusalsRequest | undefined;
  lastRefusalTotalsRequest: GetRefusalTotalsRequest | undefined;
  lastRefundRequest: RefundRequest | undefined;
  holdsPastExpiry = 0n;
  quarantinedLastHour = 0n;
  alert = GetAlertResponse.fromPartial({ alert: {} });
  readonly notifications: Notification[] = [];
  /** When the oldest pending notification was created; 0: none is pending. */
  oldestNotificationAtMs = 0n;
  mailError = '';
  mailErrorOfOneRecipient = false;
  /** Webhook requests that their endpoints rejected. */
  rejectedNotifications = 0n;
  /** Since when deliveries are paused; 0: they are not. */
  pausedAtMs = 0n;
  /** Of auth: when the installation was backed up and created. */
  backups = { lastBackupAtMs: 0n, oldestAccountAtMs: BigInt(testNowMs) };
  /** The same for those that auth has not received. */
  oldestUnshippedNotificationAtMs = 0n;
  /** The error of the next test delivery; empty: it succeeds. */
  alertOutcome = '';
  /** The refunded amount of every hold; undefined: the ledger knows no holds. */
  refundedNanoUsd: bigint | undefined;
}

/** A running fake gateway. */
export interface FakeGateway {
  readonly state: FakeState;
  /** The environment with which the CLI finds this gateway. */
  readonly env: Readonly<Record<string, string>>;
  readonly grpc: GrpcServer;
  stop(): Promise<void>;
}

/** Starts a fake gateway in its own data folder. */
export async function startFakeGateway(): Promise<FakeGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tollgate-cli-'));
  const state = new FakeState();
  const grpc = await serveGrpc({
    services: [
      { definition: AuthServiceDefinition, service: stubbed(AuthServiceDefinition, auth(state)) },
      { definition: UserServiceDefinition, service: stubbed(UserServiceDefinition, users(state)) },
      { definition: CatalogServiceDefinition, service: stubbed(CatalogServiceDefinition, catalog(state)) },
      { definition: LedgerServiceDefinition, service: stubbed(LedgerServiceDefinition, ledger(state)) },
      { definition: NotificationServiceDefinition, service: stubbed(NotificationServiceDefinition, notifications(state)) },
      { definition: AlertServiceDefinition, service: stubbed(AlertServiceDefinition, alerts(state)) },
      { definition: MeteringServiceDefinition, service: stubbed(MeteringServiceDefinition, metering(state)) },
      { definition: InferenceServiceDefinition, service: stubbed(InferenceServiceDefinition, inference(state)) },
    ],
    address: `unix:${await claimAdminSocket(dataDir)}`,
    log: silentLog,
  });
  grpc.setServing(true);
  const http = createReadyServer(state);
  return {
    state,
    env: { TOLLGATE_DATA_DIR: dataDir, TOLLGATE_GATEWAY_URL: `http://127.0.0.1:${await listen(http)}` },
    grpc,
    async stop() {
      await grpc.stop(0);
      await close(http);
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

function createReadyServer(state: FakeState): Server {
  return createServer(({ url }, response) =>
    response.writeHead(url === '/readyz' ? 200 : 404, { date: new Date(state.nowMs).toUTCString() }).end(JSON.stringify(state.readiness)),
  );
}

// A method that no test needs is unimplemented.
const running = ProcessInfo.fromPartial({
  version: '1.2.3',
  nodeVersion: '24.0.0',
  startedAtMs: BigInt(testNowMs),
  databaseEngine: 'SQLite',
  databaseVersion: '3.50.0',
  databaseLatencyUs: 420,
  nowMs: BigInt(testNowMs),
  diskFreeBytes: 90_000_000_000n,
  diskTotalBytes: 100_000_000_000n,
});

function stubbed(definition: { methods: object }, methods: object): object {
  const missing = (): never => {
    throw new AppError('unimplemented', 'The fake gateway does not implement this method.');
  };
  return {
    ...Object.fromEntries(Object.keys(definition.methods).map((name) => [name, missing])),
    getHealth: async () => ({ process: running }),
    ...methods,
  };
}

function find<T extends { id: string }>(items: readonly T[], id: string, what: string): T {
  const found = items.find((item) => item.id === id);
  if (found === undefined) throw new AppError('not_found', `There is no ${what} ${id}.`);
  return found;
}

/** Returns the page of `items` that begins at the index in `token`. */
function pageOf<T>(items: readonly T[], size: number, token: string): { page: T[]; nextPageToken: string } {
  const start = Number(token || '0');
  return { page: items.slice(start, start + size), nextPageToken: start + size < items.length ? String(start + size) : '' };
}

const withIds = (budgets: readonly Budget[]): Budget[] => budgets.map((budget) => ({ ...budget, id: `bud_${budget.period}` }));

function auth(state: FakeState): object {
  return {
    getHealth: async () => ({ process: running, ...state.backups }),
    recordBackup: async () => {
      state.backups = { ...state.backups, lastBackupAtMs: BigInt(testNowMs) };
      return {};
    },
    createAccount: async ({ name, rateLimits }: CreateAccountRequest, context: CallContext) => {
      state.callers.add(context.caller);
      const account = Account.fromPartial({
        id: newId('acct'),
        name,
        state: AccountState.ACCOUNT_STATE_ACTIVE,
        createdAtMs: BigInt(testNowMs),
        ...(rateLimits === undefined ? {} : { rateLimits }),
      });
      state.accounts.push(account);
      return { account };
    },
    getAccount: async ({ accountId }: { accountId: string }) => {
      if (state.accountFault !== undefined) throw state.accountFault;
      return { account: find(state.accounts, accountId, 'account') };
    },
    listAccounts: async ({ pageSize, pageToken }: { pageSize: number; pageToken: string }) => {
      const { page, nextPageToken } = pageOf(state.accounts, pageSize, pageToken);
      return {
        accounts: page,
        nextPageToken,
        keyCounts: page.map(({ id }) => state.keys.filter(({ accountId }) => accountId === id).length),
      };
    },
    updateAccount: async (request: UpdateAccountRequest) => {
      const account = find(state.accounts, request.accountId, 'account');
      const has = (field: string): boolean => request.updateMask?.includes(field) === true;
      if (has('name')) account.name = request.name;
      if (has('state')) account.state = request.state;
      if (has('rate_limits')) account.rateLimits = request.rateLimits;
      account.stateReason = request.stateReason;
      return { account };
    },
    updateAccountBudgets: async ({ accountId, budgets, timeZone, updateMask }: UpdateAccountBudgetsRequest) => {
      const account = find(state.accounts, accountId, 'account');
      if (updateMask?.includes('budgets') === true) account.budgets = withIds(budgets);
      if (updateMask?.includes('time_zone') === true) account.timeZone = timeZone;
      return { account };
    },
    createProject: async (request: CreateProjectRequest) => {
      const models = request.models ?? { allModels: true, modelIds: [] };
      const project = Project.fromPartial({
        ...request,
        budgets: withIds(request.budgets),
        models,
        id: newId('proj'),
        createdAtMs: BigInt(testNowMs),
      });
      state.projects.push(project);
      return { project };
    },
    getProject: async ({ projectId }: { projectId: string }) => ({
      project: find(state.projects, projectId, 'project'),
      keyCount: state.keys.filter((key) => key.projectId === projectId).length,
    }),
    listProjects: async ({ pageSize, pageToken }: { pageSize: number; pageToken: string }) => {
      const { page, nextPageToken } = pageOf(state.projects, pageSize, pageToken);
      return {
        projects: page,
        nextPageToken,
        keyCounts: page.map(({ id }) => state.keys.filter(({ projectId }) => projectId === id).length),
      };
    },
    updateProject: async (request: UpdateProjectRequest) => {
      const project = find(state.projects, request.projectId, 'project');
      const has = (field: string): boolean => request.updateMask?.includes(field) === true;
      if (has('name')) project.name = request.name;
      if (has('models')) project.models = request.models;
      if (has('rate_limits')) project.rateLimits = request.rateLimits;
      if (has('budgets')) project.budgets = withIds(request.budgets);
      if (has('budget_fallback')) project.budgetFallback = request.budgetFallback;
      if (has('prompt_log_days')) project.promptLogDays = request.promptLogDays;
      return { project };
    },
    deleteProject: async ({ projectId }: { projectId: string }) => {
      const project = find(state.projects, projectId, 'project');
      project.deletedAtMs = BigInt(testNowMs);
      return { project };
    },
    createKey: async (request: CreateKeyRequest) => {
      const models = request.models ?? { allModels: true, modelIds: [] };
      const key = Key.fromPartial({
        ...request,
        id: newId('key'),
        lastFour: 'wxyz',
        models,
        state: KeyState.KEY_STATE_ACTIVE,
        createdAtMs: BigInt(testNowMs),
      });
      state.keys.push(key);
      return { key, secret: 'the-secret-wxyz' };
    },
    getKey: async ({ keyId }: { keyId: string }) => ({ key: find(state.keys, keyId, 'key') }),
    listKeys: async ({ accountId, projectId, pageSize, pageToken }: ListKeysRequest) => {
      const { page, nextPageToken } = pageOf(
        state.keys.filter((key) => key.accountId === accountId && (projectId === '' || key.projectId === projectId)),
        pageSize,
        pageToken,
      );
      return { keys: page, nextPageToken };
    },
    updateKey: async (request: UpdateKeyRequest) => {
      const key = find(state.keys, request.keyId, 'key');
      const has = (field: string): boolean => request.updateMask?.includes(field) === true;
      if (has('name')) key.name = request.name;
      if (has('models')) key.models = request.models;
      if (has('lifetime_limit_nano_usd')) key.lifetimeLimitNanoUsd = request.lifetimeLimitNanoUsd;
      if (has('expires_at_ms')) key.expiresAtMs = request.expiresAtMs;
      if (has('state')) key.state = request.state;
      if (has('rate_limits')) key.rateLimits = request.rateLimits;
      if (has('budgets')) key.budgets = withIds(request.budgets);
      if (has('project_id')) key.projectId = request.projectId;
      if (has('allowed_addresses')) key.allowedAddresses = request.allowedAddresses;
      return { key };
    },
    revokeKey: async ({ keyId }: { keyId: string }) => {
      const key = find(state.keys, keyId, 'key');
      key.state = KeyState.KEY_STATE_REVOKED;
      return { key };
    },
  };
}

function users(state: FakeState): object {
  return {
    verifyAuditLog: async () =>
      VerifyAuditLogResponse.fromPartial({
        eventsChecked: 3n,
        fault: state.auditDrift,
        lastNumber: state.auditLast.number,
        lastHash: state.auditLast.hash,
        restore: state.auditRestore,
      }),
    listUsers: async ({ email }: ListUsersRequest) => ({
      users: state.users.filter((user) => email === '' || user.email === email),
      nextPageToken: '',
    }),
    createSignInLink: async () => CreateSignInLinkResponse.fromPartial({ token: 'link-token', expiresAtMs: BigInt(testNowMs + 60_000) }),
  };
}

function balanceOf(state: FakeState, accountId: string): Balance {
  const creditedNanoUsd = state.entries.filter((entry) => entry.accountId === accountId).reduce((sum, entry) => sum + signed(entry), 0n);
  return Balance.fromPartial({ accountId, creditedNanoUsd, availableNanoUsd: creditedNanoUsd, seq: BigInt(state.entries.length) });
}

function signed(entry: Entry): bigint {
  return entry.credit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? entry.amountNanoUsd : -entry.amountNanoUsd;
}

function ledger(state: FakeState): object {
  const book = (request: DepositRequest | AdjustRequest, kind: EntryKind): object => {
    const known = state.entries.find((entry) => entry.reference === request.idempotencyKey);
    const isCredit = request.amountNanoUsd > 0n;
    const entry =
      known ??
      Entry.fromPartial({
        id: newId('ent'),
        accountId: request.accountId,
        seq: BigInt(state.entries.length + 1),
        kind,
        debit: isCredit ? BookAccount.BOOK_ACCOUNT_CASH : BookAccount.BOOK_ACCOUNT_CUSTOMER,
        credit: isCredit ? BookAccount.BOOK_ACCOUNT_CUSTOMER : BookAccount.BOOK_ACCOUNT_CASH,
        amountNanoUsd: isCredit ? request.amountNanoUsd : -request.amountNanoUsd,
        reference: request.idempotencyKey,
        reason: request.reason,
        linkedEntryId: 'linkedEntryId' in request ? request.linkedEntryId : '',
        createdAtMs: BigInt(testNowMs),
      });
    if (known === undefined) state.entries.push(entry);
    return { entry, balance: balanceOf(state, request.accountId), replayed: known !== undefined };
  };
  return {
    deposit: async (request: DepositRequest) => {
      const response = book(request, EntryKind.ENTRY_KIND_DEPOSIT);
      const fault = state.depositFault;
      state.depositFault = undefined;
      if (fault !== undefined) throw fault;
      return response;
    },
    listStatements: async ({ pageToken }: { pageToken: string }) => {
      const { page, nextPageToken } = pageOf(state.statements, 2, pageToken);
      return { statements: page, nextPageToken };
    },
    getStatement: async ({ month }: { month: string }) => {
      const statement = state.statements.find((each) => each.month === month);
      if (statement === undefined) throw new AppError('not_found', `The account has no statement of ${month}.`);
      return { statement };
    },
    createRedemptionCodes: async (request: CreateRedemptionCodesRequest) => {
      if (state.codesFault !== undefined) throw state.codesFault;
      const codes = Array.from({ length: request.count }, (_, index) =>
        RedemptionCode.fromPartial({
          ...request,
          id: `code_${index}`,
          lastFour: `000${index}`,
          state: RedemptionCodeState.REDEMPTION_CODE_STATE_OPEN,
        }),
      );
      state.codes.push(...codes);
      return { codes, secrets: codes.map(({ lastFour }) => `TGC-${lastFour}`), replayed: false };
    },
    listRedemptionCodes: async ({ state: wanted }: { state: RedemptionCodeState }) => ({
      codes: state.codes.filter((code) => wanted === 0 || code.state === wanted),
      nextPageToken: '',
    }),
    voidRedemptionCodes: async ({ id }: { id: string }) => {
      const found = state.codes.filter((code) => [code.id, code.batchId].includes(id));
      for (const code of found) code.state = RedemptionCodeState.REDEMPTION_CODE_STATE_VOID;
      return { voided: found.length };
    },
    redeemCode: async ({ accountId, secret }: { accountId: string; secret: string }) =>
      book({ idempotencyKey: secret, accountId, amountNanoUsd: 5n, source: 0, reason: '' }, EntryKind.ENTRY_KIND_DEPOSIT),
    adjust: async (request: AdjustRequest) =>
      book(request, request.paymentRefund === true ? EntryKind.ENTRY_KIND_PAYMENT_REFUND : EntryKind.ENTRY_KIND_ADJUSTMENT),
    reverse: async ({ entryId, ...request }: ReverseRequest) => {
      const amountNanoUsd = -signed(find(state.entries, entryId, 'entry'));
      return book({ ...request, amountNanoUsd, linkedEntryId: entryId }, EntryKind.ENTRY_KIND_ADJUSTMENT);
    },
    refund: async (request: RefundRequest) => {
      state.lastRefundRequest = request;
      return book({ ...request, amountNanoUsd: request.amountNanoUsd ?? 100n, linkedEntryId: '' }, EntryKind.ENTRY_KIND_REFUND);
    },
    listOpenHolds: async ({ pageSize, pageToken }: ListOpenHoldsRequest) => {
      const end = Number(pageToken) + pageSize;
      const holds = Array.from({ length: 3 }, (_, index) => Hold.fromPartial({ id: `req_${index}` })).slice(Number(pageToken), end);
      return { holds, nextPageToken: end < 3 ? String(end) : '' };
    },
    getHold: async ({ holdId }: { holdId: string }) => {
      if (state.refundedNanoUsd === undefined) throw new AppError('not_found', `There is no hold ${holdId}.`);
      return { hold: Hold.fromPartial({ id: holdId, refundedNanoUsd: state.refundedNanoUsd }) };
    },
    getBalance: async ({ accountId }: { accountId: string }) => ({ balance: balanceOf(state, accountId) }),
    batchGetBalances: async ({ accountIds }: { accountIds: string[] }) => {
      if (state.balancesFault !== undefined) throw state.balancesFault;
      return { balances: accountIds.map((accountId) => balanceOf(state, accountId)) };
    },
    listBudgetSpend: async ({ budgets }: ListBudgetSpendRequest) => ({
      budgets: budgets.map(({ id, limitNanoUsd }) => ({
        budgetId: id,
        fromMs: BigInt(testNowMs),
        untilMs: BigInt(testNowMs + 86_400_000),
        spentNanoUsd: 1_500_000_000n,
        heldNanoUsd: 0n,
        leftNanoUsd: limitNanoUsd - 1_500_000_000n,
      })),
    }),
    listKeySpend: async ({ keyIds }: { keyIds: string[] }) => {
      if (state.balancesFault !== undefined) throw state.balancesFault;
      return { keys: keyIds.map((keyId) => ({ keyId, spentNanoUsd: 1_500_000_000n, heldNanoUsd: 0n, limitNanoUsd: undefined })) };
    },
    getEntry: async ({ entryId }: { entryId: string }) => {
      const entry = find(state.entries, entryId, 'entry');
      const corrections: Entry[] = [];
      for (const later of state.entries) {
        if ([entry, ...corrections].some(({ id }) => id === later.linkedEntryId)) corrections.push(later);
      }
      const left = corrections.reduce((sum, correction) => sum + signed(correction), signed(entry));
      return { entry, corrections, reversibleNanoUsd: left < 0n ? -left : left };
    },
    listEntries: async () => ({ entries: [...state.entries].reverse(), nextPageToken: '' }),
    listJournal: async ({ accountId, pageToken, untilMs }: { accountId: string; pageToken: string; untilMs: bigint }) => {
      const wanted = state.entries.filter((entry) => (accountId === '' || entry.accountId === accountId) && entry.createdAtMs < untilMs);
      const { page, nextPageToken } = pageOf(wanted, 2, pageToken);
      return { entries: page, nextPageToken };
    },
    verify: async () => state.verification,
    getHealth: async () => ({
      process: running,
      openHolds: 2n,
      oldestOpenHoldAtMs: BigInt(testNowMs - 5000),
      holdsPastExpiry: state.holdsPastExpiry,
      oldestUnshippedNotificationAtMs: state.oldestUnshippedNotificationAtMs,
    }),
  };
}

function metering(state: FakeState): object {
  return {
    listUsageRecords: async (request: ListUsageRecordsRequest) => {
      state.lastRecordsRequest = request;
      const { page, nextPageToken } = pageOf(state.records, request.pageSize, request.pageToken);
      return { records: page, nextPageToken };
    },
    getUsageTotals: async (request: GetUsageTotalsRequest) => {
      state.lastTotalsRequest = request;
      return state.totals;
    },
    getUsageRecord: async ({ callId }: { callId: string }) => ({ record: state.records.find((record) => record.call?.id === callId) }),
    listRefusals: async (request: ListRefusalsRequest) => {
      state.lastRefusalsRequest = request;
      const { page, nextPageToken } = pageOf(state.refusals, request.pageSize, request.pageToken);
      return { refusals: page, nextPageToken };
    },
    getRefusal: async ({ requestId }: { requestId: string }) => ({
      refusal: state.refusals.find((refusal) => refusal.requestId === requestId),
    }),
    getRefusalTotals: async (request: GetRefusalTotalsRequest) => {
      state.lastRefusalTotalsRequest = request;
      return GetRefusalTotalsResponse.fromPartial({ groups: [{ name: 'balance_empty', thenName: 'key_1', calls: 7n }] });
    },
    batchGetKeyActivity: async ({ keyIds }: { keyIds: string[] }) => {
      if (state.activityFault !== undefined) throw state.activityFault;
      return {
        keys: keyIds.map((keyId) => ({
          keyId,
          lastCallId: `req_${'0'.repeat(32)}`,
          lastStartedAtMs: BigInt(testNowMs - 1000),
          lastModelId: 'sandbox/echo',
        })),
      };
    },
    getHealth: async () => ({ process: running, outbox: state.outbox, quarantinedLastHour: state.quarantinedLastHour }),
    getOutbox: async () => state.outbox,
    reconcile: async ({ pageToken }: { pageToken: string }) => {
      const { page, nextPageToken } = pageOf(state.drifts, 1, pageToken);
      return { recordsChecked: 2n, holdsChecked: 3n, settlementsChecked: 0n, drifts: page, nextPageToken };
    },
    getReconciliation: async () => state.reconciliation,
    listUnsettledCharges: async ({ pageSize, pageToken }: { pageSize: number; pageToken: string }) => {
      const { page, nextPageToken } = pageOf(state.charges, pageSize, pageToken);
      return { charges: page, nextPageToken };
    },
    retrySettlement: async () => ({ retried: BigInt(state.charges.length) }),
    closeSettlement: async ({ callId, reason }: CloseSettlementRequest) => {
      const charge = state.charges.find((each) => each.callId === callId);
      if (charge === undefined) throw new AppError('not_found', `No charge of the call ${callId} waits for the ledger.`);
      return {
        charge: Object.assign(charge, { state: UnsettledState.UNSETTLED_STATE_CLOSED, closeReason: reason, closedAtMs: BigInt(testNowMs) }),
      };
    },
  };
}

function catalog(state: FakeState): object {
  return {
    listModels: async () => ({ models: state.models, scheduledPrices: [] }),
    getModel: async ({ modelId }: { modelId: string }) => ({ model: find(state.models, modelId, 'model') }),
    putModel: async ({ model, createOnly }: { model: Model; createOnly?: boolean }) => {
      const index = state.models.findIndex((known) => known.id === model.id);
      if (createOnly === true && index !== -1) throw fault('model_exists', { id: model.id });
      const stored = Model.fromPartial({ ...model, price: state.models[index]?.price, createdAtMs: BigInt(testNowMs) });
      state.models.splice(index === -1 ? state.models.length : index, 1, stored);
      return { model: stored };
    },
    listPriceVersions: async ({ modelId }: { modelId: string }) => {
      const { price } = find(state.models, modelId, 'model');
      return { prices: price === undefined ? state.scheduledPrices : [price] };
    },
    publishPrice: async ({ price }: { price: PriceVersion }) => {
      const stored = PriceVersion.fromPartial({ ...price, id: newId('price') });
      find(state.models, price.modelId, 'model').price = stored;
      return { price: stored };
    },
  };
}

function inference(state: FakeState): object {
  return {
    listUpstreamModels: async () => ({ models: state.listedModels }),
    listUpstreams: async () => ({ upstreams: state.upstreams }),
    putUpstream: async ({ upstream, secret, createOnly }: { upstream: Upstream; secret?: string; createOnly?: boolean }) => {
      const index = state.upstreams.findIndex((known) => known.id === upstream.id);
      if (createOnly === true && index !== -1) throw fault('upstream_exists', { id: upstream.id });
      if (secret !== undefined) state.secrets.set(upstream.id, secret);
      const kept = state.secrets.get(upstream.id) ?? '';
      const stored = Upstream.fromPartial({ ...upstream, hasSecret: kept !== '', secretLastFour: kept.length < 12 ? '' : kept.slice(-4) });
      state.upstreams.splice(index === -1 ? state.upstreams.length : index, 1, stored);
      return { upstream: stored };
    },
    putCredential: async ({ upstreamId, credentialId, secret, createOnly }: PutCredentialRequest) => {
      const upstream = state.upstreams.find(({ id }) => id === upstreamId)!;
      if (createOnly === true && upstream.credentials.some(({ id }) => id === credentialId))
        throw fault('credential_exists', { upstream: upstreamId, id: credentialId });
      state.secrets.set(`${upstreamId} ${credentialId}`, secret);
      const others = upstream.credentials.filter(({ id }) => id !== credentialId);
      upstream.credentials = [...others, { id: credentialId, lastFour: secret.slice(-4), setAtMs: 1_800_000_000_000n }];
      return { upstream };
    },
    deleteCredential: async ({ upstreamId, credentialId }: { upstreamId: string; credentialId: string }) => {
      const upstream = state.upstreams.find(({ id }) => id === upstreamId)!;
      upstream.credentials = upstream.credentials.filter(({ id }) => id !== credentialId);
      return { upstream };
    },
    listTargetHealth: async () => ({ targets: state.targetHealth, overrides: [] }),
    overrideTarget: async (request: OverrideTargetRequest) => ({ override: TargetOverride.fromPartial(request) }),
    testUpstream: async ({ upstreamId, upstreamModel, probes }: TestUpstreamRequest) => {
      state.probes = probes;
      const upstream = find(state.upstreams, upstreamId, 'upstream');
      upstream.lastTest = UpstreamTest.fromPartial({ ...state.upstreamTest, upstreamModel: upstreamModel ?? '' });
      return { test: upstream.lastTest };
    },
  };
}

function alerts(state: FakeState): object {
  return {
    getAlert: async () => state.alert,
    putAlert: async ({ accountId, enabled, thresholdNanoUsd, emails }: PutAlertRequest) => {
      state.alert = GetAlertResponse.fromPartial({ alert: { accountId, enabled, thresholdNanoUsd, emails } });
      return { alert: state.alert.alert };
    },
    testAlert: async () => {
      const { NOTIFICATION_STATE_DELIVERED: delivered, NOTIFICATION_STATE_FAILED: failed } = NotificationState;
      const isTaken = state.alertOutcome === '';
      const amounts = { threshold_usd: '10', settled_usd: '20', available_usd: '20' };
      const accountId = state.alert.alert!.accountId;
      const event = { id: newId('evt'), type: 'balance.low', accountId, atMs: testNowMs, data: amounts } as const;
      const notification = Notification.fromPartial({
        id: newId('ntf'),
        channel: NotificationChannel.NOTIFICATION_CHANNEL_MAIL,
        destination: state.alert.alert!.emails[0] ?? '',
        state: isTaken ? delivered : failed,
        attempts: 1,
        lastResult: isTaken ? '250 taken' : state.alertOutcome,
        eventJson: webhookBody(event, true),
        createdAtMs: BigInt(testNowMs),
      });
      state.notifications.unshift(notification);
      return { notifications: [notification] };
    },
  };
}

function notifications(state: FakeState): object {
  return {
    listNotifications: async ({ pageSize, pageToken }: { pageSize: number; pageToken: string }) => {
      const { page, nextPageToken } = pageOf(state.notifications, pageSize, pageToken);
      return { notifications: page, nextPageToken };
    },
    getDeliveryStatus: async () => ({
      mailConfigured: false,
      privateWebhooks: false,
      pending: state.rejectedNotifications + (state.oldestNotificationAtMs === 0n ? 0n : 1n),
      oldestPendingAtMs: state.oldestNotificationAtMs,
      pausedAtMs: state.pausedAtMs,
      mailError: state.mailError,
      mailErrorOfOneRecipient: state.mailErrorOfOneRecipient,
    }),
  };
}
