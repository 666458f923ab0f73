// The first start of an installation: creates an operator and an account that the operator owns, with a starting balance and a first
// key, so that calls can be made immediately.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AuthService, CreateKeyRequest } from '#proto/auth/v1/auth.js';
import { CreateUserRequest, type UserService, Role } from '#proto/auth/v1/users.js';
import { DepositSource, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { hasReason } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';

/** What the first run created. */
export interface FirstRun {
  readonly accountId: string;
  /** The key's secret, which is stored nowhere. */
  readonly secret: string;
  /** Email address of the operator, who owns the account. The operator has no password yet and can sign in only with a link. */
  readonly operatorEmail: string;
  readonly startingBalanceNanoUsd: bigint;
}

const keyName = 'first key';
const timeoutMs = 10_000;

/** Returns the path of the file that marks the first run as done. */
function markerPath(dataDir: string): string {
  return join(dataDir, 'first-run.json');
}

/**
 * Creates the first account, operator, deposit and key, unless `dataDir` shows that this was done before. An interrupted first run is
 * repeated: creating the account, the operator and the deposit is idempotent, and a key whose secret was never shown is revoked. `show` must
 * have delivered the secret to the operator when its promise is fulfilled; only then is the first run marked as done. Returns whether this
 * start is the first.
 */
export async function ensureFirstRun(
  dataDir: string,
  clients: {
    auth: Pick<AuthService, 'createAccount' | 'createKey' | 'listKeys' | 'revokeKey'>;
    users: Pick<UserService, 'createUser' | 'listUsers' | 'putMember'>;
    ledger: Pick<LedgerService, 'deposit'>;
  },
  { startingBalanceNanoUsd, operatorEmail }: { startingBalanceNanoUsd: bigint; operatorEmail: string },
  show: (firstRun: FirstRun) => Promise<void>,
): Promise<boolean> {
  if (existsSync(markerPath(dataDir))) return false;
  const { auth, users, ledger } = clients;
  const context = callContext({ caller: 'operator', timeoutMs });
  const { account } = await auth.createAccount({ name: 'default', idempotencyKey: 'first-run', rateLimits: undefined }, context);
  const accountId = account!.id;
  if (startingBalanceNanoUsd > 0n) {
    await ledger.deposit(
      {
        idempotencyKey: `first-run-${accountId}`,
        accountId,
        amountNanoUsd: startingBalanceNanoUsd,
        source: DepositSource.DEPOSIT_SOURCE_PROMOTION,
        reason: 'starting balance',
      },
      context,
    );
  }
  await users.putMember({ accountId, userId: await operatorId(users, operatorEmail), role: Role.ROLE_OWNER }, context);
  const { keys } = await auth.listKeys({ accountId, projectId: '', pageSize: 0, pageToken: '', newestFirst: false }, context);
  for (const key of keys) if (key.name === keyName) await auth.revokeKey({ keyId: key.id, accountId }, context);
  const { secret } = await auth.createKey(CreateKeyRequest.fromPartial({ accountId, name: keyName }), context);
  await show({ accountId, secret, operatorEmail, startingBalanceNanoUsd });
  writeFileSync(markerPath(dataDir), `${JSON.stringify({ account_id: accountId })}\n`, { mode: 0o600 });
  return true;
}

async function operatorId(users: Pick<UserService, 'createUser' | 'listUsers'>, email: string): Promise<string> {
  const context = callContext({ caller: 'operator', timeoutMs });
  try {
    const { user } = await users.createUser(CreateUserRequest.fromPartial({ email, name: 'Operator', isOperator: true }), context);
    return user!.id;
  } catch (error) {
    if (!hasReason(error, 'already_exists')) throw error;
    const known = await users.listUsers({ email, search: '', pageSize: 1, pageToken: '' }, context);
    return known.users[0]!.id;
  }
}

/** A link with which a user signs in to the console once. The token is in the fragment, which browsers do not send, so that no log holds it. */
export interface ConsoleLink {
  readonly url: string;
  readonly expiresAtMs: number;
}

/** Creates a sign-in link for the user with this email address. Raises not_found. */
export async function createConsoleLink(
  users: Pick<UserService, 'createSignInLink'>,
  email: string,
  address: string,
): Promise<ConsoleLink> {
  const { token, expiresAtMs } = await users.createSignInLink(
    { email, sendMail: false, language: '' },
    callContext({ caller: 'operator', timeoutMs }),
  );
  return { url: `${address}/console/link#${token}`, expiresAtMs: Number(expiresAtMs) };
}
