// The types of the access rules in the contracts, and of the grants of callers. Plain data.

/** The lowest role that admits the user on whose behalf a caller acts; an operator satisfies every role. */
export type RequiredRole = 'user' | 'member' | 'viewer' | 'developer' | 'billing' | 'admin' | 'owner' | 'operator';

/** The access option of one RPC (proto/tollgate/options/v1/access.proto). */
export interface AccessRule {
  /** Empty for an RPC that is checked per operation. */
  readonly grant: string;
  readonly role?: RequiredRole;
  /** Where the request names its account: ["call", "accountId"]. */
  readonly accountPath?: readonly string[];
  /** Whether callers that are limited to accounts are admitted although the request names none. */
  readonly anyAccount?: boolean;
  /** Whether each operation on the stream is checked by the access rule of the RPC of that name. */
  readonly perOperation?: boolean;
  /** Where the request names projects: users who have the role in all of these projects are admitted too. */
  readonly projectPath?: readonly string[];
  /** Whether users who have the role in some project of the account are admitted too; the service limits the RPC to these projects. */
  readonly someProject?: boolean;
  /** The scopes of which a management key needs one; absent: management keys are refused. */
  readonly scopes?: readonly string[];
}

/** The rule of each RPC, by its full name: "tollgate.ledger.v1.LedgerService/Hold". */
export type AccessTable = Readonly<Record<string, AccessRule>>;

/** A caller that is part of the installation. */
interface BuiltInCaller {
  readonly grants: 'all' | readonly string[];
  /** Whether it holds its grants on behalf of users: an RPC that requires a role then admits it only with an actor who has that role. */
  readonly forUsers: boolean;
}

/** The callers that are part of the installation, by name. */
export type BuiltInCallers = Readonly<Record<string, BuiltInCaller>>;

// The roles that satisfy each required role in an account, or in a project of it.
const satisfying: Readonly<Record<string, readonly string[]>> = {
  member: ['member', 'viewer', 'developer', 'billing', 'admin', 'owner'],
  viewer: ['viewer', 'developer', 'billing', 'admin', 'owner'],
  developer: ['developer', 'admin', 'owner'],
  billing: ['billing', 'admin', 'owner'],
  admin: ['admin', 'owner'],
  owner: ['owner'],
};

/** Reports whether a member with this role in an account or a project satisfies the required role. */
export function satisfies(role: string | undefined, required: RequiredRole): boolean {
  return role !== undefined && satisfying[required]?.includes(role) === true;
}
