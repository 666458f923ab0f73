// Signs the tokens that show services for which user a caller acts (verified by services/kit/rpc/actor-token.ts).
import { SignJWT } from 'jose/jwt/sign';
import type { Clock } from '#kit/clock.js';
import { newId } from '#kit/id.js';
import { type ActorClaims, actorTokenRules } from '#kit/rpc/actor-token.js';
import { type ActorToken, type ManagementKey, type Membership, Role, type User } from '#proto/auth/v1/users.js';
import { withIncluded } from '#rules/access/scopes.js';
import type { SigningKeys } from './signing-keys.js';

/** How long a token is valid. Short, since a token can outlive its session by this much. */
export const tokenLifeMs = 120_000;
// A token is sent as a header, whose size HTTP/2 servers limit.
const rolesMax = 50;
const rememberedMax = 1000;

const roleNames: Readonly<Partial<Record<Role, string>>> = {
  [Role.ROLE_OWNER]: 'owner',
  [Role.ROLE_ADMIN]: 'admin',
  [Role.ROLE_DEVELOPER]: 'developer',
  [Role.ROLE_BILLING]: 'billing',
  [Role.ROLE_VIEWER]: 'viewer',
  [Role.ROLE_MEMBER]: 'member',
};

/** Holds the user, caller and account for which a token is signed. */
export interface Acting {
  readonly user: User;
  /** The id of the session, or of the management key. */
  readonly sessionId: string;
  readonly managementKey?: Pick<ManagementKey, 'id' | 'name' | 'scopes'>;
  readonly memberships: readonly Membership[];
  /** The account that the request concerns, if any. */
  readonly accountId: string;
  readonly clientAddress: string;
  /** The caller that may use the token, as the transport established it. */
  readonly caller: string;
}

/** Signs tokens. An identical token is returned again for half its life, so that services verify it once for many requests. */
export class ActorTokens {
  private readonly remembered = new Map<string, { readonly kid: string; readonly token: string; readonly expiresAtMs: number }>();

  constructor(
    private readonly keys: SigningKeys,
    private readonly clock: Clock,
  ) {}

  /** Returns a token for the user of a session or of a management key. */
  async sign(acting: Acting): Promise<ActorToken> {
    const { user, sessionId, managementKey, caller, clientAddress } = acting;
    const nowMs = this.clock.nowMs();
    const { kid, privateKey } = this.keys.current();
    const claims: Omit<ActorClaims, 'iat'> = {
      azp: caller,
      sub: user.id,
      sid: sessionId,
      email: user.email,
      operator: user.isOperator,
      roles: rolesOf(acting),
      project_roles: projectRolesOf(acting),
      client_address: clientAddress,
      ...(managementKey === undefined ? {} : { management_key: keyClaim(managementKey) }),
    };
    const name = JSON.stringify(claims);
    const known = this.remembered.get(name);
    if (known !== undefined && known.kid === kid && known.expiresAtMs - nowMs > tokenLifeMs / 2)
      return { token: known.token, expiresAtMs: BigInt(known.expiresAtMs) };
    // Whole seconds, as tokens have them.
    const issuedAt = Math.floor(nowMs / 1000);
    const expiresAt = issuedAt + tokenLifeMs / 1000;
    const { algorithm: alg, audience, issuer, typ } = actorTokenRules;
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg, kid, typ })
      .setIssuer(issuer)
      .setAudience(audience)
      .setIssuedAt(issuedAt)
      .setExpirationTime(expiresAt)
      .setJti(newId('act', nowMs))
      .sign(privateKey);
    const expiresAtMs = expiresAt * 1000;
    this.remembered.delete(name);
    if (this.remembered.size >= rememberedMax) this.remembered.delete(this.remembered.keys().next().value!);
    this.remembered.set(name, { kid, token, expiresAtMs });
    return { token, expiresAtMs: BigInt(expiresAtMs) };
  }
}

function keyClaim({ id, name, scopes }: Pick<ManagementKey, 'id' | 'name' | 'scopes'>): NonNullable<ActorClaims['management_key']> {
  return { id, name, scopes: withIncluded(scopes) };
}

/** Returns the roles in at most 50 accounts, always including the account of the request. */
function rolesOf({ memberships, accountId }: Acting): Record<string, string> {
  const known = memberships.filter(({ account, role }) => account !== undefined && roleNames[role] !== undefined);
  const first = known.filter(({ account }) => account!.id === accountId);
  const others = known.filter(({ account }) => account!.id !== accountId).slice(0, rolesMax - first.length);
  return Object.fromEntries([...first, ...others].map(({ account, role }) => [account!.id, roleNames[role]!]));
}

/** Returns the roles in projects of the account of the request; those in other accounts are not needed for it. */
function projectRolesOf({ memberships, accountId }: Acting): Record<string, Record<string, string>> {
  const projectRoles = memberships.find(({ account }) => account?.id === accountId)?.projectRoles ?? [];
  if (projectRoles.length === 0) return {};
  return { [accountId]: Object.fromEntries(projectRoles.map(({ projectId, role }) => [projectId, roleNames[role]!])) };
}
