// The first start of an installation: an account with a starting balance and a first key, so that there is something to try, and an
// operator who owns it.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AuthService } from '#proto/auth/v1/auth.js';
import { CreateUserRequest, type UserService, Role } from '#proto/auth/v1/users.js';
import { DepositSource, type LedgerService } from '#proto/ledger/v1/ledger.js';
import { hasReason } from '#client/errors/app-error.js';
import { callContext } from '#client/call-context.js';

/** What the first run made. */
export interface FirstRun {
  readonly accountId: string;
  /** The whole secret; it is nowhere else. */
  readonly secret: string;
  /** Who owns the account and runs this Tollgate; without a password, so that only a link lets them in. */
  readonly operatorEmail: string;
  readonly startingBalanceNanoUsd: bigint;
}

const keyName = 'first key';
const timeoutMs = 10_000;

/** Where it is noted that the first run is over. */
function notePath(dataDir: string): string {
  return join(dataDir, 'first-run.json');
}

/**
 * Makes the first account, operator, deposit and key unless `dataDir` says that this was done. A first run that was cut short is done
 * again: the account, the operator and the deposit are idempotent, and a key whose secret was never shown is revoked. `show` must bring the
 * secret to its owner before it returns; only then is the first run over.
 */
export async function ensureFirstRun(
  dataDir: string,
  clients: {
    auth: Pick<AuthService, 'createAccount' | 'createKey' | 'listKeys' | 'revokeKey'>;
    users: Pick<UserService, 'createUser' | 'listUsers' | 'putMember'>;
    ledger: Pick<LedgerService, 'deposit'>;
  },
  { startingBalanceNanoUsd, operatorEmail }: { startingBalanceNanoUsd: bigint; operatorEmail: string },
  show: (firstRun: FirstRun) => void,
): Promise<void> {
  if (existsSync(notePath(dataDir))) return;
  const { auth, users, ledger } = clients;
  const context = callContext({ caller: 'operator', timeoutMs });
  const { account } = await auth.createAccount({ name: 'default', idempotencyKey: 'first-run' }, context);
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
  const { keys } = await auth.listKeys({ accountId, pageSize: 0, pageToken: '', newestFirst: false }, context);
  for (const key of keys) if (key.name === keyName) await auth.revokeKey({ keyId: key.id, accountId }, context);
  const { secret } = await auth.createKey(
    { accountId, name: keyName, models: undefined, lifetimeLimitNanoUsd: undefined, expiresAtMs: undefined, idempotencyKey: '' },
    context,
  );
  show({ accountId, secret, operatorEmail, startingBalanceNanoUsd });
  writeFileSync(notePath(dataDir), `${JSON.stringify({ account_id: accountId })}\n`, { mode: 0o600 });
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

/** Where somebody signs in to the console, once. The token is in the fragment, which no browser sends and so no log holds. */
export interface ConsoleLink {
  readonly url: string;
  readonly expiresAtMs: number;
}

/** Makes a link for this person. Raises not_found. */
export async function makeConsoleLink(users: Pick<UserService, 'createSignInLink'>, email: string, address: string): Promise<ConsoleLink> {
  const { token, expiresAtMs } = await users.createSignInLink({ email, sendMail: false }, callContext({ caller: 'operator', timeoutMs }));
  return { url: `${address}/console/link#${token}`, expiresAtMs: Number(expiresAtMs) };
}

/** The account that the first run made, or undefined. */
export function firstAccountId(dataDir: string): string | undefined {
  if (!existsSync(notePath(dataDir))) return undefined;
  return (JSON.parse(readFileSync(notePath(dataDir), 'utf8')) as { account_id: string }).account_id;
}
