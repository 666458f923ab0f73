// Restricts what an acting user may do to users, beyond the role that the contract requires: users act on themselves only, and only owners
// change owners. A caller without an actor acts in its own name, for which the contract requires only its grant.
import { fault } from '#client/errors/fault.js';
import type { CallContext } from '#client/call-context.js';
import { type Invitation, Role, type UserService } from '#proto/auth/v1/users.js';

/** Checks a change of members by the roles that users have at that moment; undefined for a user who is not a member. */
export type CheckMember = (roleOf: (userId: string) => Role | undefined) => void;

/**
 * Returns the check that only owners and admins change members. It raises role_not_permitted. Call it while the members are locked: an owner may be
 * changing the role of the actor at this moment.
 */
export function mayManageMembers({ actor }: CallContext): CheckMember {
  return (roleOf) => {
    if (actor === undefined || actor.isOperator) return;
    // The role in the token may be outdated: an actor who has just lost it could restore it.
    const own = roleOf(actor.userId);
    if (own !== Role.ROLE_OWNER && own !== Role.ROLE_ADMIN) throw fault('managers_only', {});
  };
}

/**
 * Returns the check of `mayManageMembers`, and that only owners create, change or remove owners; `wanted` is the role that the user is to have. It also
 * raises not_found for a user who is not a member.
 */
export function mayChangeMember(context: CallContext, userId: string, wanted?: Role): CheckMember {
  const { actor } = context;
  const checkActor = mayManageMembers(context);
  return (roleOf) => {
    checkActor(roleOf);
    if (actor === undefined || actor.isOperator) return;
    const present = roleOf(userId);
    // Users who are not members of the account yet must be invited, so that they can decline.
    if (present === undefined) throw fault('no_member', {}, { details: { what: 'member' } });
    if (roleOf(actor.userId) !== Role.ROLE_OWNER && (present === Role.ROLE_OWNER || wanted === Role.ROLE_OWNER))
      throw fault('owners_only', {});
  };
}

/** Returns the service with these rules applied. Its RPCs also raise role_not_permitted. */
export function withActorRules(service: UserService): UserService {
  return {
    ...service,
    setPassword: async (request, context) => service.setPassword(ofOwnSession(request, context), context),
    updateProfile: async (request, context) => service.updateProfile(ofOwnSession(request, context), context),
    confirmEmail: async (request, context) => service.confirmEmail(ofOwnSession(request, context), context),
    confirmPassword: async (request, context) => service.confirmPassword(ofOwnSession(request, context), context),
    connectIdentity: async (request, context) => service.connectIdentity(ofOwnSession(request, context), context),
    listIdentities: async (request, context) => service.listIdentities(ofOneself(request, context), context),
    disconnectIdentity: async (request, context) => service.disconnectIdentity(ofOwnSession(request, context), context),
    listSessions: async (request, context) => service.listSessions(ofOneself(request, context), context),
    revokeSessions: async (request, context) => service.revokeSessions(ofOneself(request, context), context),
    listSecondFactors: async (request, context) => service.listSecondFactors(ofOneself(request, context), context),
    beginReauthentication: async (request, context) => service.beginReauthentication(ofOwnSession(request, context), context),
    reauthenticate: async (request, context) => service.reauthenticate(ofOwnSession(request, context), context),
    beginSecondFactor: async (request, context) => service.beginSecondFactor(ofOwnSession(request, context), context),
    addSecondFactor: async (request, context) => service.addSecondFactor(ofOwnSession(request, context), context),
    renameSecondFactor: async (request, context) => service.renameSecondFactor(ofOwnSession(request, context), context),
    removeSecondFactor: async (request, context) => service.removeSecondFactor(ofOwnSession(request, context), context),
    createRecoveryCodes: async (request, context) => service.createRecoveryCodes(ofOwnSession(request, context), context),
    resetPassword: async (request, context) => service.resetPassword(withProvenSession(request, context), context),
    acceptInvitation: async (request, context) => service.acceptInvitation(withProvenSession(request, context), context),
    async createInvitation(request, context) {
      const { actor } = context!;
      if (actor === undefined) return service.createInvitation(request, context);
      assertMayChangeInvitation(context!, request);
      return service.createInvitation({ ...request, invitedByUserId: actor.userId }, context);
    },
  };
}

/** Raises role_not_permitted for a session of another user. */
function ofOwnSession<R extends { readonly sessionId: string }>(request: R, context: CallContext | undefined): R {
  const actor = context?.actor;
  if (actor !== undefined && actor.sessionId !== request.sessionId) throw fault('own_session_only', {});
  return request;
}

/** Removes a session that is not the actor's. Session ids are not secret, so a session proves a user only with their actor token. */
function withProvenSession<R extends { readonly sessionId: string }>(request: R, context: CallContext | undefined): R {
  return context?.actor?.sessionId === request.sessionId ? request : { ...request, sessionId: '' };
}

/** Raises role_not_permitted for another user, unless an operator acts. */
function ofOneself<R extends { readonly userId: string }>(request: R, context: CallContext | undefined): R {
  const actor = context?.actor;
  if (actor !== undefined && actor.userId !== request.userId && !actor.isOperator) throw fault('oneself_only', {});
  return request;
}

/** Raises role_not_permitted for an invitation with the role owner, unless an owner or operator acts. */
export function assertMayChangeInvitation({ actor }: CallContext, { accountId, role }: Pick<Invitation, 'accountId' | 'role'>): void {
  const isOwner = actor === undefined || actor.isOperator || actor.roles.get(accountId) === 'owner';
  if (!isOwner && role === Role.ROLE_OWNER) throw fault('owners_only', {});
}
