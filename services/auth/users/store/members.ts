// The SQL of memberships and invitations.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText, optional } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { type Invitation, type Member, type Membership, type ProjectRole, Role } from '#proto/auth/v1/users.js';
import type { CheckMember } from '../actor-rules.js';
import { mailStateOf } from '../mail/user-mails.js';
import { accountColumns, type Row, toAccount } from '../../store/rows.js';
import { userColumns, userOfJoin } from './users.js';

/** Maximum number of open invitations of an account, so that the table cannot grow without limit. */
export const openInvitationsMax = 100;

/** Stores memberships and invitations. */
export class MemberStore {
  constructor(private readonly db: Database) {}

  async ofUser(userId: Buffer, knex: Knex = this.db.knex): Promise<Membership[]> {
    const rows: Row[] = await knex('member')
      .join('account', 'account.id', 'member.account_id')
      .where('member.user_id', userId)
      .orderBy('member.since_ms')
      .select(['member.role', 'member.project_roles', ...accountColumns.map((column) => `account.${column}`)]);
    return rows.map((row) => ({
      account: toAccount(row),
      role: asNumber(row['role']) as Role,
      projectRoles: projectRolesIn(row['project_roles']),
    }));
  }

  async ofAccount(accountId: Buffer): Promise<Member[]> {
    const rows: Row[] = await this.db
      .knex('member')
      .join('person', 'person.id', 'member.user_id')
      .where('member.account_id', accountId)
      .orderBy('member.since_ms')
      .select(['member.role', 'member.since_ms', 'member.project_roles', ...userColumns]);
    return rows.map((row) => ({
      user: userOfJoin(row).user,
      role: asNumber(row['role']) as Role,
      joinedAtMs: asBigInt(row['since_ms']),
      projectRoles: projectRolesIn(row['project_roles']),
    }));
  }

  /** Locks the members and invitations of an account against other changes until the transaction ends. Raises not_found. */
  async lock(tx: Knex.Transaction, accountId: Buffer): Promise<void> {
    await lockAccount(tx, accountId);
  }

  /**
   * Makes a user a member or changes their role, and returns the previous role. `check` may refuse the change by throwing. Raises failed_precondition
   * when the account would have no owner left.
   */
  async put(
    tx: Knex.Transaction,
    accountId: Buffer,
    { userId, role, nowMs }: { userId: Buffer; role: Role; nowMs: number },
    check: CheckMember = () => undefined,
  ): Promise<Role | undefined> {
    const members = await lockedMembers(tx, accountId);
    const before = members.get(userId.toString('hex'));
    check(roleIn(members));
    members.set(userId.toString('hex'), role);
    assertOwned(members);
    if (before === undefined) {
      await tx('member').insert({ account_id: accountId, user_id: userId, role, project_roles: projectRolesColumn([]), since_ms: nowMs });
    } else await tx('member').where({ account_id: accountId, user_id: userId }).update({ role });
    if (role !== Role.ROLE_OWNER) await endInvitationsBy(tx, accountId, userId, role);
    return before;
  }

  /**
   * Replaces the roles of a member in projects with the result of `change`, which also gets those of them in projects that are not deleted; returns
   * false when there is no such member. `check` may refuse that by throwing.
   */
  async changeProjectRoles(
    tx: Knex.Transaction,
    accountId: Buffer,
    userId: Buffer,
    change: (roles: readonly ProjectRole[], open: readonly ProjectRole[]) => readonly ProjectRole[],
    check: CheckMember = () => undefined,
  ): Promise<boolean> {
    check(roleIn(await lockedMembers(tx, accountId)));
    const member = { account_id: accountId, user_id: userId };
    const row: Row | undefined = await tx('member').where(member).forUpdate().first('project_roles');
    if (row === undefined) return false;
    const roles = projectRolesIn(row['project_roles']);
    const changed = change(roles, await inOpenProjects(tx, roles));
    await tx('member')
      .where(member)
      .update({ project_roles: projectRolesColumn(changed) });
    return true;
  }

  /**
   * Ends a membership; returns false when there was none. `check` may refuse that by throwing. Raises failed_precondition when the account would have no
   * owner left.
   */
  async remove(tx: Knex.Transaction, accountId: Buffer, userId: Buffer, check: CheckMember): Promise<boolean> {
    const members = await lockedMembers(tx, accountId);
    check(roleIn(members));
    if (!members.delete(userId.toString('hex'))) return false;
    assertOwned(members);
    await tx('member').where({ account_id: accountId, user_id: userId }).delete();
    await endInvitationsBy(tx, accountId, userId, undefined);
    return true;
  }

  /** Adds an invitation, replacing an earlier one for the same address. Raises not_found, and failed_precondition when too many are open. */
  async invite(tx: Knex.Transaction, invitation: Invitation, tokenHash: Buffer): Promise<void> {
    const accountId = idToBytes('acct', invitation.accountId)!;
    await lockAccount(tx, accountId);
    const open: Row[] = await tx('invitation')
      .where({ account_id: accountId })
      .where('expires_at_ms', '>', Number(invitation.createdAtMs))
      .limit(openInvitationsMax)
      .select('email');
    // Replacing an open invitation is always allowed.
    if (open.length >= openInvitationsMax && !open.some((row) => asText(row['email']) === invitation.email)) throw tooManyOpen();
    await tx('invitation').where({ account_id: accountId, email: invitation.email }).delete();
    await tx('invitation').insert({
      id: idToBytes('inv', invitation.id),
      token_hash: tokenHash,
      account_id: accountId,
      email: invitation.email,
      role: invitation.role,
      project_roles: projectRolesColumn(invitation.projectRoles),
      invited_by: idToBytes('user', invitation.invitedByUserId),
      created_at_ms: invitation.createdAtMs,
      expires_at_ms: invitation.expiresAtMs,
    });
  }

  /** Returns the role in the open invitation of an address into an account; undefined if there is none. */
  async invitedRole(
    tx: Knex.Transaction,
    { accountId, email }: Pick<Invitation, 'accountId' | 'email'>,
    nowMs: number,
  ): Promise<Role | undefined> {
    const invitation = { account_id: idToBytes('acct', accountId)!, email };
    const row: Row | undefined = await tx('invitation').where(invitation).where('expires_at_ms', '>', nowMs).first('role');
    return row === undefined ? undefined : (asNumber(row['role']) as Role);
  }

  /** Reports whether an invitation can still be accepted. */
  async isOpen(id: Buffer, nowMs: number): Promise<boolean> {
    return (await this.db.knex('invitation').where({ id }).where('expires_at_ms', '>', nowMs).first('id')) !== undefined;
  }

  async invitations(accountId: Buffer, nowMs: number): Promise<Invitation[]> {
    const rows: Row[] = await invitationQuery(this.db.knex)
      .where('invitation.account_id', accountId)
      .where('invitation.expires_at_ms', '>', nowMs)
      .orderBy('invitation.id', 'desc');
    return rows.map(toInvitation);
  }

  async findInvitation(tokenHash: Buffer, nowMs: number): Promise<Invitation | undefined> {
    const row: Row | undefined = await invitationQuery(this.db.knex)
      .where('invitation.token_hash', tokenHash)
      .where('invitation.expires_at_ms', '>', nowMs)
      .first();
    return row === undefined ? undefined : toInvitation(row);
  }

  /** Removes an invitation and returns it; undefined when a concurrent request has already removed it. */
  async endInvitation(tx: Knex.Transaction, accountId: Buffer, id: Buffer): Promise<Pick<Invitation, 'email' | 'role'> | undefined> {
    const row: Row | undefined = await tx('invitation').where({ account_id: accountId, id }).forUpdate().first('email', 'role');
    if (row === undefined) return undefined;
    await tx('invitation').where({ account_id: accountId, id }).delete();
    return { email: asText(row['email']), role: asNumber(row['role']) as Role };
  }

  /** Ends the invitations that a user who is no operator could no longer create in any account; all of a disabled user. */
  async endInvitationsOf(tx: Knex.Transaction, userId: Buffer, isDisabled: boolean): Promise<void> {
    const roles = new Map((await this.ofUser(userId, tx)).map(({ account, role }) => [account!.id, role]));
    const invited: Row[] = await tx('invitation').where({ invited_by: userId }).distinct('account_id');
    for (const row of invited) {
      const accountId = asBytes(row['account_id']);
      const role = isDisabled ? undefined : roles.get(idFromBytes('acct', accountId));
      if (role !== Role.ROLE_OWNER) await endInvitationsBy(tx, accountId, userId, role);
    }
  }

  async sweep(beforeMs: number): Promise<void> {
    await this.db.knex('invitation').where('expires_at_ms', '<', beforeMs).delete();
  }
}

function tooManyOpen(): AppError {
  return fault('invitations_full', { max: openInvitationsMax });
}

/** Locks the account's row for a change of its members or invitations, so that its last two owners cannot both leave at once. */
async function lockAccount(tx: Knex.Transaction, accountId: Buffer): Promise<void> {
  const account: Row | undefined = await tx('account').where({ id: accountId }).forUpdate().first('id');
  if (account === undefined) throw fault('no_such_id', { what: 'account' });
}

async function lockedMembers(tx: Knex.Transaction, accountId: Buffer): Promise<Map<string, Role>> {
  await lockAccount(tx, accountId);
  const rows: Row[] = await tx('member').where({ account_id: accountId }).select('user_id', 'role');
  return new Map(rows.map((row) => [asBytes(row['user_id']).toString('hex'), asNumber(row['role']) as Role]));
}

/** Returns the function that finds the role of a user, whose id begins with "user_". */
function roleIn(members: ReadonlyMap<string, Role>): (userId: string) => Role | undefined {
  return (userId) => members.get(idToBytes('user', userId)!.toString('hex'));
}

/**
 * Ends the invitations of a user that they could no longer create with this role: the user has seen their links, and could use one to return
 * to the account or regain a role. An admin may invite with any role but owner.
 */
async function endInvitationsBy(tx: Knex.Transaction, accountId: Buffer, userId: Buffer, role: Role | undefined): Promise<void> {
  const query = tx('invitation').where({ account_id: accountId, invited_by: userId });
  await (role === Role.ROLE_ADMIN ? query.where({ role: Role.ROLE_OWNER }) : query).delete();
}

function assertOwned(members: ReadonlyMap<string, Role>): void {
  if ([...members.values()].includes(Role.ROLE_OWNER)) return;
  throw fault('last_owner', {});
}

const invitationColumns = ['id', 'account_id', 'email', 'role', 'project_roles', 'invited_by', 'created_at_ms', 'expires_at_ms'];

/** The notification of an invitation's mail has the same id. */
function invitationQuery(knex: Knex): Knex.QueryBuilder {
  return knex('invitation')
    .join('account', 'account.id', 'invitation.account_id')
    .leftJoin('notification', 'notification.id', 'invitation.id')
    .select([
      ...invitationColumns.map((column) => `invitation.${column}`),
      'account.name as account_name',
      'notification.state as mail_state',
      'notification.outcome as mail_outcome',
    ]);
}

function toInvitation(row: Row): Invitation {
  const state = optional(row['mail_state'], asNumber);
  return {
    id: idFromBytes('inv', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    accountName: asText(row['account_name']),
    email: asText(row['email']),
    role: asNumber(row['role']) as Role,
    projectRoles: projectRolesIn(row['project_roles']),
    invitedByUserId: idFromBytes('user', asBytes(row['invited_by'])),
    createdAtMs: asBigInt(row['created_at_ms']),
    expiresAtMs: asBigInt(row['expires_at_ms']),
    ...mailStateOf(state === undefined ? undefined : { state, outcome: asText(row['mail_outcome']) }),
  };
}

/** Returns the roles in projects that are not deleted. */
async function inOpenProjects(tx: Knex.Transaction, roles: readonly ProjectRole[]): Promise<ProjectRole[]> {
  const ids = roles.map(({ projectId }) => idToBytes('proj', projectId)!);
  const rows: Row[] = await tx('project').whereIn('id', ids).whereNull('deleted_at_ms').select('id');
  const open = new Set(rows.map((row) => idFromBytes('proj', asBytes(row['id']))));
  return roles.filter(({ projectId }) => open.has(projectId));
}

function projectRolesIn(value: unknown): ProjectRole[] {
  return Object.entries(JSON.parse(asText(value)) as Record<string, Role>).map(([projectId, role]) => ({ projectId, role }));
}

function projectRolesColumn(roles: readonly ProjectRole[]): string {
  return JSON.stringify(Object.fromEntries(roles.map(({ projectId, role }) => [projectId, role])));
}
