// The SQL of memberships and invitations.
import { AppError } from '#client/errors/app-error.js';
import { fault } from '#client/errors/fault.js';
import type { Knex } from 'knex';
import type { Database } from '#kit/db/open.js';
import { asBigInt, asBytes, asNumber, asText } from '#kit/db/values.js';
import { idFromBytes, idToBytes } from '#kit/id.js';
import { type Invitation, MailState, type Member, type Membership, Role } from '#proto/auth/v1/users.js';
import { abandoned, type MailStanding } from '../mail/mail-state.js';
import { accountColumns, type Row, toAccount } from '../../store/rows.js';
import { personColumns, userOfJoin } from './users.js';

/** Most members, memberships and invitations in one answer. */
const membersMax = 1000;

/** Most invitations of an account that are open at a time, so that nobody makes the table grow without end. */
export const openInvitationsMax = 100;

/** Keeps who belongs where. */
export class MemberStore {
  constructor(private readonly db: Database) {}

  async ofUser(userId: Buffer, knex: Knex = this.db.knex): Promise<Membership[]> {
    const rows: Row[] = await knex('member')
      .join('account', 'account.id', 'member.account_id')
      .where('member.user_id', userId)
      .orderBy('member.since_ms')
      .limit(membersMax)
      .select(['member.role', ...accountColumns.map((column) => `account.${column}`)]);
    return rows.map((row) => ({ account: toAccount(row), role: asNumber(row['role']) as Role }));
  }

  async ofAccount(accountId: Buffer): Promise<Member[]> {
    const rows: Row[] = await this.db
      .knex('member')
      .join('person', 'person.id', 'member.user_id')
      .where('member.account_id', accountId)
      .orderBy('member.since_ms')
      .limit(membersMax)
      .select(['member.role', 'member.since_ms', ...personColumns]);
    return rows.map((row) => ({ user: userOfJoin(row), role: asNumber(row['role']) as Role, joinedAtMs: asBigInt(row['since_ms']) }));
  }

  /** Makes a user a member or changes their role, and returns the former role. Raises failed_precondition when the account would be without an owner. */
  async put(tx: Knex.Transaction, accountId: Buffer, userId: Buffer, role: Role, nowMs: number): Promise<Role | undefined> {
    const members = await lockedMembers(tx, accountId);
    const before = members.get(userId.toString('hex'));
    members.set(userId.toString('hex'), role);
    assertOwned(members);
    if (before === undefined) await tx('member').insert({ account_id: accountId, user_id: userId, role, since_ms: nowMs });
    else await tx('member').where({ account_id: accountId, user_id: userId }).update({ role });
    if (role !== Role.ROLE_OWNER) await endInvitationsBy(tx, accountId, userId, role);
    return before;
  }

  /** Ends a membership; false when there was none. Raises failed_precondition when the account would be without an owner. */
  async remove(tx: Knex.Transaction, accountId: Buffer, userId: Buffer): Promise<boolean> {
    const members = await lockedMembers(tx, accountId);
    if (!members.delete(userId.toString('hex'))) return false;
    assertOwned(members);
    await tx('member').where({ account_id: accountId, user_id: userId }).delete();
    await endInvitationsBy(tx, accountId, userId, undefined);
    return true;
  }

  /** Keeps an invitation in the place of an earlier one of the same address. Raises not_found, and failed_precondition where too many are open. */
  async invite(tx: Knex.Transaction, invitation: Invitation, tokenHash: Buffer): Promise<void> {
    const accountId = idToBytes('acct', invitation.accountId)!;
    await lockAccount(tx, accountId);
    const open: Row[] = await tx('invitation')
      .where({ account_id: accountId })
      .where('expires_at_ms', '>', Number(invitation.createdAtMs))
      .limit(openInvitationsMax)
      .select('email');
    // In the place of one that is open there is always room.
    if (open.length >= openInvitationsMax && !open.some((row) => asText(row['email']) === invitation.email)) throw tooManyOpen();
    await tx('invitation').where({ account_id: accountId, email: invitation.email }).delete();
    await tx('invitation').insert({
      id: idToBytes('inv', invitation.id),
      token_hash: tokenHash,
      account_id: accountId,
      email: invitation.email,
      role: invitation.role,
      invited_by: idToBytes('user', invitation.invitedByUserId),
      created_at_ms: invitation.createdAtMs,
      expires_at_ms: invitation.expiresAtMs,
    });
  }

  /** Notes how the mail of an invitation stands; one that is pending after `untilMs` is one that nobody sends any more. */
  async noteMail(id: Buffer, { state, words }: MailStanding, untilMs: number): Promise<void> {
    await this.db.knex('invitation').where({ id }).update({ mail_state: state, mail_error: words, mail_until_ms: untilMs });
  }

  /** Whether an invitation can still be accepted. */
  async isOpen(id: Buffer, nowMs: number): Promise<boolean> {
    return (await this.db.knex('invitation').where({ id }).where('expires_at_ms', '>', nowMs).first('id')) !== undefined;
  }

  async invitations(accountId: Buffer, nowMs: number): Promise<Invitation[]> {
    const rows: Row[] = await invitationQuery(this.db.knex)
      .where('invitation.account_id', accountId)
      .where('invitation.expires_at_ms', '>', nowMs)
      .orderBy('invitation.id', 'desc')
      .limit(membersMax);
    return rows.map((row) => toInvitation(row, nowMs));
  }

  async findInvitation(tokenHash: Buffer, nowMs: number): Promise<Invitation | undefined> {
    const row: Row | undefined = await invitationQuery(this.db.knex)
      .where('invitation.token_hash', tokenHash)
      .where('invitation.expires_at_ms', '>', nowMs)
      .first();
    return row === undefined ? undefined : toInvitation(row, nowMs);
  }

  /** Uses an invitation up and returns it; undefined when another request was faster or it has ended. */
  async endInvitation(tx: Knex.Transaction, accountId: Buffer, id: Buffer): Promise<Pick<Invitation, 'email' | 'role'> | undefined> {
    const row: Row | undefined = await tx('invitation').where({ account_id: accountId, id }).forUpdate().first('email', 'role');
    if (row === undefined) return undefined;
    await tx('invitation').where({ account_id: accountId, id }).delete();
    return { email: asText(row['email']), role: asNumber(row['role']) as Role };
  }

  async sweep(beforeMs: number): Promise<void> {
    await this.db.knex('invitation').where('expires_at_ms', '<', beforeMs).delete();
  }
}

function tooManyOpen(): AppError {
  return fault('invitations_full', { max: openInvitationsMax });
}

/** The account's row is the lock of its members and invitations, so that of two owners who leave at once one stays. */
async function lockAccount(tx: Knex.Transaction, accountId: Buffer): Promise<void> {
  const account: Row | undefined = await tx('account').where({ id: accountId }).forUpdate().first('id');
  if (account === undefined) throw fault('no_such_id', { what: 'account' });
}

async function lockedMembers(tx: Knex.Transaction, accountId: Buffer): Promise<Map<string, Role>> {
  await lockAccount(tx, accountId);
  const rows: Row[] = await tx('member').where({ account_id: accountId }).select('user_id', 'role');
  return new Map(rows.map((row) => [asBytes(row['user_id']).toString('hex'), asNumber(row['role']) as Role]));
}

/**
 * Ends those invitations of somebody's that they could not make any more: whoever made one has seen its link, and would come back by
 * it, or rise again. An admin may ask anybody in but owners.
 */
async function endInvitationsBy(tx: Knex.Transaction, accountId: Buffer, userId: Buffer, role: Role | undefined): Promise<void> {
  const query = tx('invitation').where({ account_id: accountId, invited_by: userId });
  await (role === Role.ROLE_ADMIN ? query.where({ role: Role.ROLE_OWNER }) : query).delete();
}

function assertOwned(members: ReadonlyMap<string, Role>): void {
  if ([...members.values()].includes(Role.ROLE_OWNER)) return;
  throw fault('last_owner', {});
}

function invitationQuery(knex: Knex): Knex.QueryBuilder {
  return knex('invitation')
    .join('account', 'account.id', 'invitation.account_id')
    .select([
      ...[
        'id',
        'account_id',
        'email',
        'role',
        'invited_by',
        'created_at_ms',
        'expires_at_ms',
        'mail_state',
        'mail_error',
        'mail_until_ms',
      ].map((column) => `invitation.${column}`),
      'account.name as account_name',
    ]);
}

function toInvitation(row: Row, nowMs: number): Invitation {
  const noted = { state: asNumber(row['mail_state']) as MailState, words: asText(row['mail_error']) };
  const mail = noted.state === MailState.MAIL_STATE_PENDING && asNumber(row['mail_until_ms']) < nowMs ? abandoned : noted;
  return {
    id: idFromBytes('inv', asBytes(row['id'])),
    accountId: idFromBytes('acct', asBytes(row['account_id'])),
    accountName: asText(row['account_name']),
    email: asText(row['email']),
    role: asNumber(row['role']) as Role,
    invitedByUserId: idFromBytes('user', asBytes(row['invited_by'])),
    createdAtMs: asBigInt(row['created_at_ms']),
    expiresAtMs: asBigInt(row['expires_at_ms']),
    mailState: mail.state,
    mailError: mail.words,
  };
}
