// Checks passwords and second factors, and limits attempts: per email address or user from one network, per network, and per email address or user.
import { hasReason } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import { idToBytes } from '#kit/id.js';
import type { UserDeps } from '../deps.js';
import { networkOf } from './network.js';
import { isPassword } from './password.js';
import { scopeHash } from '../store/failures.js';

/** The window in which failures are counted, in milliseconds. */
export const failureWindowMs = 15 * 60_000;
/**
 * Failures in a window after which attempts are rejected: for an email address from one network, so that strangers elsewhere cannot lock its user out;
 * from a network; and for an email address from all networks in which its user has no session. For second factors: for a user from one network, and
 * from all networks. That is less than for passwords, because a code has six digits and three codes are valid at any time.
 */
export const failuresMax = { email: 5, address: 50, emailFromUnknown: 100, factor: 5, factorAnywhere: 10 } as const;

/** Attempts allowed in a window: sign-ups and password resets per network address, and those of one user to get an address that another user has. */
export const attemptsMax = { signUp: 10, passwordReset: 10, takenEmail: 10 } as const;

/** Returns the scope under which attempts from a network address are counted. */
export function addressScope(what: string, address: string): string {
  return `${what} ${networkOf(address)}`;
}

/** Counts an attempt in the scope such as "sign-up 192.0.2.1". Raises sign_in_throttled, with the wait, when it has used up its attempts. */
export async function takeAttempt(scope: string, max: number, { failures, clock }: Pick<UserDeps, 'failures' | 'clock'>): Promise<void> {
  const nowMs = clock.nowMs();
  const endsAtMs = await failures.take(scopeHash(scope), max, nowMs);
  if (endsAtMs !== undefined) throw throttled('attempts_throttled', endsAtMs - nowMs);
}

/** Frees an attempt that should not count. */
export async function giveAttemptBack(scope: string, { failures }: Pick<UserDeps, 'failures'>): Promise<void> {
  await failures.giveBack(scopeHash(scope));
}

/** The user whose password is checked, and where the attempt comes from. */
export interface Attempted {
  readonly email: string;
  readonly address: string;
  /** Absent if no user has the email address. */
  readonly userId?: string | undefined;
}

/**
 * Reports whether the password matches the stored one; undefined matches none. Raises sign_in_throttled, with the wait, when there were
 * too many failures, and overloaded. An attempt counts as failed before the password is hashed, so that parallel guesses cannot exceed the limit.
 */
export async function checkPassword(
  who: Attempted,
  password: string,
  stored: string | undefined,
  deps: Pick<UserDeps, 'failures' | 'sessions' | 'clock' | 'log'>,
): Promise<boolean> {
  const scopes: Scope[] = [
    // First, so that a network that must wait cannot fill the table with email addresses.
    [addressScope('address', who.address), failuresMax.address],
    [pairScope(who.email, who.address), failuresMax.email],
  ];
  if (!(await isKnownNetwork(who, deps))) scopes.push([`unknown ${who.email}`, failuresMax.emailFromUnknown]);
  const isRight = await logged({ ...who, proof: 'password' }, deps, () =>
    limited(scopes, 'failures_throttled', () => isPassword(password, stored, networkOf(who.address)), deps),
  );
  if (isRight) await clearFailures(who, deps);
  return isRight;
}

/** Reports whether `check` accepts the proof of a user's second factor. Raises sign_in_throttled, with the wait, when there were too many failures. */
export async function checkFactor(
  { userId, address }: { readonly userId: string; readonly address: string },
  check: () => Promise<boolean>,
  deps: Pick<UserDeps, 'failures' | 'clock' | 'log'>,
): Promise<boolean> {
  const pair = addressScope(`factor ${userId}`, address);
  const scopes: Scope[] = [
    [pair, failuresMax.factor],
    [addressScope('address', address), failuresMax.address],
    [`factor ${userId}`, failuresMax.factorAnywhere],
  ];
  const isRight = await logged({ userId, address, proof: 'second factor' }, deps, () => limited(scopes, 'attempts_throttled', check, deps));
  if (isRight) await deps.failures.clear(scopeHash(pair));
  return isRight;
}

/**
 * Logs an attempt that failed or was throttled, with the network address of the client, so that tools such as fail2ban can block it. The email address
 * is not logged, since users enter passwords in its place by mistake.
 */
async function logged(
  { userId, address, proof }: Pick<Attempted, 'userId' | 'address'> & { readonly proof: 'password' | 'second factor' },
  { log }: Pick<UserDeps, 'log'>,
  attempt: () => Promise<boolean>,
): Promise<boolean> {
  const facts = { client_address: address, user_id: userId, proof };
  try {
    const isRight = await attempt();
    if (!isRight) log.warn(facts, 'authentication failed');
    return isRight;
  } catch (error) {
    if (hasReason(error, 'sign_in_throttled')) log.warn(facts, 'authentication throttled');
    throw error;
  }
}

/** Forgets the failed proofs of second factors that the user no longer has, from this network and in total. */
export async function clearFactorFailures(
  { userId, address }: { readonly userId: string; readonly address: string },
  { failures }: Pick<UserDeps, 'failures'>,
): Promise<void> {
  for (const scope of [addressScope(`factor ${userId}`, address), `factor ${userId}`]) await failures.clear(scopeHash(scope));
}

/** Forgets the failures for an email address from this network. */
export async function clearFailures({ email, address }: Attempted, { failures }: Pick<UserDeps, 'failures'>): Promise<void> {
  await failures.clear(scopeHash(pairScope(email, address)));
}

function pairScope(email: string, address: string): string {
  return `email ${email} ${networkOf(address)}`;
}

/** A name under which failures are counted, and their maximum in a window. */
type Scope = readonly [name: string, max: number];

/** Runs a check whose failures count in every scope. Where one is used up, the check does not run, and nothing is counted. */
async function limited(
  scopes: readonly Scope[],
  rule: ThrottleRule,
  check: () => Promise<boolean>,
  deps: Pick<UserDeps, 'failures' | 'clock'>,
): Promise<boolean> {
  const taken = await takeAll(scopes, rule, deps);
  let isFailure = false;
  try {
    isFailure = !(await check());
    return !isFailure;
  } finally {
    if (!isFailure) for (const scope of taken) await deps.failures.giveBack(scope);
  }
}

/** Counts an attempt in every scope, and returns the scopes; where one is used up, in none. */
async function takeAll(
  scopes: readonly Scope[],
  rule: ThrottleRule,
  { failures, clock }: Pick<UserDeps, 'failures' | 'clock'>,
): Promise<Buffer[]> {
  const nowMs = clock.nowMs();
  const taken: Buffer[] = [];
  for (const [name, max] of scopes) {
    const scope = scopeHash(name);
    const endsAtMs = await failures.take(scope, max, nowMs);
    if (endsAtMs === undefined) {
      taken.push(scope);
      continue;
    }
    for (const each of taken) await failures.giveBack(each);
    throw throttled(rule, endsAtMs - nowMs);
  }
  return taken;
}

const noUser = Buffer.alloc(16);

/** Reports whether the user is signed in on a device in this network. */
async function isKnownNetwork({ userId, address }: Attempted, { sessions, clock }: Pick<UserDeps, 'sessions' | 'clock'>): Promise<boolean> {
  const network = networkOf(address);
  // Queried for unknown email addresses too, so that the response takes equally long.
  const open = await sessions.list(idToBytes('user', userId ?? '') ?? noUser, clock.nowMs());
  return open.some(({ client }) => client !== undefined && networkOf(client.address) === network);
}

type ThrottleRule = 'attempts_throttled' | 'failures_throttled';

function throttled(rule: ThrottleRule, retryAfterMs: number) {
  return fault(rule, { minutes: Math.ceil(retryAfterMs / 60_000) }, { retryAfterMs });
}
