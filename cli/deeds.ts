// What the operator's command leaves in the audit log: one line for each RPC that changes something, so that no command can
// forget it. Details name what people look for, and no secret.
import { formatUsd } from '#rules/money.js';
import { type Account, AccountState } from '#proto/auth/v1/auth.js';
import { Role, type User } from '#proto/auth/v1/users.js';
import { type Balance, BookAccount, DepositSource, type Entry } from '#proto/ledger/v1/ledger.js';
import { operatorCall, type Services } from './connect.js';
import { wordsOf } from './parse.js';
import { modelView, priceView } from './views/model.js';
import { upstreamView } from './views/upstream.js';

/** An entry of the audit log, without who and when. */
export interface Deed {
  readonly accountId: string;
  readonly action: string;
  readonly targetId: string;
  readonly detail: object;
}

type Method = (request: never, context?: never) => Promise<unknown>;
type RequestOf<M> = M extends (request: infer R, ...rest: never[]) => unknown ? R : never;
type ResponseOf<M> = M extends (...args: never[]) => Promise<infer R> ? R : never;

/** How an RPC is noted. */
interface Noted<M> {
  /** How it was before, where that is worth a question; what fails here is for the RPC itself to say. */
  before?(request: RequestOf<M>, services: Services): Promise<unknown>;
  /** Undefined where nothing was done, as by a repeat. */
  deed(request: RequestOf<M>, response: ResponseOf<M>, before: unknown): Deed | undefined;
}

type Unary<S> = { [K in keyof S as S[K] extends Method ? K : never]?: Noted<S[K]> };

/** The services whose RPCs are noted. Auth itself notes changes of callers. */
export type NotedServices = Omit<Services, 'callers' | 'checkHealth' | 'close'>;

const roles = wordsOf<Role>(Role, 'ROLE_');
const deed = (action: string, accountId: string, targetId: string, detail: object = {}): Deed => ({ action, accountId, targetId, detail });
const accountDetail = (account: Account) => ({
  name: account.name,
  state: account.state === AccountState.ACCOUNT_STATE_SUSPENDED ? 'suspended' : 'active',
  state_reason: account.stateReason,
});
const userDetail = (user: User) => ({ email: user.email, name: user.name, is_disabled: user.isDisabled, is_operator: user.isOperator });

/** A request as JSON: without what is absent, whole numbers as text. */
function plain(request: object): object {
  return JSON.parse(JSON.stringify(request, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value))) as object;
}

/** What both have, where they differ. */
function changes(before: object | undefined, after: Record<string, unknown>): { before?: object; after: object } {
  if (before === undefined) return { after };
  const was = before as Record<string, unknown>;
  const names = Object.keys(after).filter((name) => was[name] !== after[name]);
  const only = (of: Record<string, unknown>): object => Object.fromEntries(names.map((name) => [name, of[name]]));
  return { before: only(was), after: only(after) };
}

function moneyDeed(
  action: string,
  { entry, balance, replayed }: { entry: Entry | undefined; balance: Balance | undefined; replayed: boolean },
  detail: object,
): Deed | undefined {
  // A repeat did nothing, and the first time it was noted.
  if (replayed) return undefined;
  const { amountNanoUsd, credit, accountId, id, reason } = entry!;
  const effect = credit === BookAccount.BOOK_ACCOUNT_CUSTOMER ? amountNanoUsd : -amountNanoUsd;
  const after = balance!.availableNanoUsd;
  return deed(action, accountId, id, {
    amount_usd: formatUsd(amountNanoUsd),
    reason,
    ...detail,
    before: { available_usd: formatUsd(after - effect) },
    after: { available_usd: formatUsd(after) },
  });
}

const auth: Unary<Services['auth']> = {
  createAccount: { deed: ({ name }, { account }) => deed('account.create', account!.id, account!.id, { name }) },
  updateAccount: {
    before: async ({ accountId }, services) => accountDetail((await services.auth.getAccount({ accountId }, operatorCall())).account!),
    deed({ state, name }, { account }, before) {
      const action =
        state === AccountState.ACCOUNT_STATE_SUSPENDED
          ? 'suspend'
          : state === AccountState.ACCOUNT_STATE_ACTIVE
            ? 'resume'
            : name === undefined
              ? 'update'
              : 'rename';
      return deed(`account.${action}`, account!.id, account!.id, changes(before as object | undefined, accountDetail(account!)));
    },
  },
  createKey: { deed: ({ name }, { key }) => deed('key.create', key!.accountId, key!.id, { name }) },
  updateKey: { deed: (request, { key }) => deed('key.update', key!.accountId, key!.id, plain(request)) },
  revokeKey: { deed: (_request, { key }) => deed('key.revoke', key!.accountId, key!.id) },
  rotateKey: {
    deed: ({ overlapMs }, { key }) => deed('key.rotate', key!.accountId, key!.id, { overlap_seconds: Number(overlapMs) / 1000 }),
  },
};

const users: Unary<Services['users']> = {
  createUser: {
    deed: (_request, { user }) => deed('user.create', '', user!.id, { ...userDetail(user!), has_password: user!.hasPassword }),
  },
  updateUser: {
    async before({ userId }, services) {
      const { users } = await services.users.listUsers({ email: '', search: userId, pageSize: 1, pageToken: '' }, operatorCall());
      return users[0] === undefined ? undefined : userDetail(users[0]);
    },
    deed: (_request, { user }, before) =>
      deed('user.update', '', user!.id, { email: user!.email, ...changes(before as object | undefined, userDetail(user!)) }),
  },
  createSignInLink: { deed: ({ email }) => deed('user.link', '', email, { email }) },
  revokeSessions: { deed: ({ userId }, { revoked: ended }) => deed('user.end_sessions', '', userId, { ended }) },
  putMember: {
    deed: ({ accountId, userId }, { member }) =>
      deed('member.put', accountId, userId, { email: member!.user?.email, role: roles.of(member!.role) }),
  },
  deleteMember: { deed: ({ accountId, userId }) => deed('member.remove', accountId, userId) },
};

const ledger: Unary<Services['ledger']> = {
  deposit: {
    deed: ({ source }, response) =>
      moneyDeed('account.credit', response, { source: source === DepositSource.DEPOSIT_SOURCE_PROMOTION ? 'promotion' : 'cash' }),
  },
  adjust: {
    deed: ({ amountNanoUsd, linkedEntryId }, response) =>
      linkedEntryId === ''
        ? moneyDeed(amountNanoUsd > 0n ? 'account.credit' : 'account.debit', response, { source: 'correction' })
        : moneyDeed('account.reverse', response, { reversed_entry_id: linkedEntryId }),
  },
  refund: {
    deed: ({ holdId }, response) =>
      moneyDeed('account.reverse', response, { request_id: holdId, reversed_entry_id: response.entry!.linkedEntryId }),
  },
  createRedemptionCodes: {
    deed: ({ batchId, amountNanoUsd, count, note }, { replayed }) =>
      replayed ? undefined : deed('code.create', '', batchId, { amount_usd: formatUsd(amountNanoUsd), count, note }),
  },
  voidRedemptionCodes: { deed: ({ id }, { voided }) => deed('code.void', '', id, { voided }) },
  redeemCode: {
    deed: ({ accountId }, { entry }) => deed('code.redeem', accountId, entry!.id, { amount_usd: formatUsd(entry!.amountNanoUsd) }),
  },
};

const alerts: Unary<Services['alerts']> = {
  putAlert: {
    deed: ({ accountId, enabled, thresholdNanoUsd, emails, rotateWebhookSecret }) =>
      deed('alert.put', accountId, accountId, {
        enabled,
        threshold_usd: formatUsd(thresholdNanoUsd),
        emails,
        rotate_webhook_secret: rotateWebhookSecret,
      }),
  },
  testAlert: { deed: ({ accountId }) => deed('alert.test', accountId, accountId) },
};

const catalog: Unary<Services['catalog']> = {
  putModel: { deed: ({ model }) => deed('model.put', '', model!.id, modelView.json(model!)) },
  publishPrice: { deed: (_request, { price }) => deed('price.publish', '', price!.modelId, priceView.json(price!)) },
  putPriceDraft: { deed: (_request, { draft }) => deed('price.draft', '', draft!.price!.modelId, priceView.json(draft!.price!)) },
  deletePriceDraft: { deed: ({ modelId }) => deed('price.discard', '', modelId) },
  publishPriceDraft: {
    deed: ({ version }, { price }) =>
      deed('price.publish', '', price!.modelId, { draft_version: Number(version), ...priceView.json(price!) }),
  },
};

const metering: Unary<Services['metering']> = {
  retrySettlement: {
    deed: ({ callId }, { retried }) => (retried === 0n ? undefined : deed('settlement.retry', '', callId, { retried: Number(retried) })),
  },
  closeSettlement: {
    deed: ({ reason }, { charge }) =>
      deed('settlement.close', charge!.accountId, charge!.callId, { reason, charge_usd: formatUsd(charge!.chargeNanoUsd) }),
  },
};

const inference: Unary<Services['inference']> = {
  putUpstream: {
    // Of the secret only whether it was changed.
    deed: ({ secret }, { upstream }) =>
      deed('upstream.put', '', upstream!.id, {
        ...upstreamView.json(upstream!),
        secret: secret === undefined ? 'kept' : secret === '' ? 'removed' : 'set',
      }),
  },
  deleteUpstream: { deed: ({ upstreamId }) => deed('upstream.delete', '', upstreamId) },
  testUpstream: {
    deed: ({ upstreamId }, { test }) => deed('upstream.test', '', upstreamId, { ok: test?.ok, failed_step: test?.failedStep }),
  },
};

/** All of them, by service and RPC. */
export const deeds = { auth, users, catalog, ledger, alerts, metering, inference } as const satisfies {
  [S in keyof NotedServices]: Unary<Services[S]>;
};
