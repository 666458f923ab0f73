// The members of an account, its invitations and its audit events.
import { type Static, Type } from 'typebox';
import { allOf, Email, Flag, listOf, nullable, parameter, Text, Time, view } from './shapes.js';
import { projectRoles, roles } from './words.js';

export const Role = Type.Enum(roles);
export type Role = Static<typeof Role>;

/** A member's role in one project, in addition to the role in the account. */
export const ProjectRole = Type.Object({ project_id: Text, role: Type.Enum(projectRoles) });
export type ProjectRole = Static<typeof ProjectRole>;
const ProjectRoles = Type.Array(ProjectRole, { maxItems: 50 });

/** A user as shown to themselves and to other members. */
export const userFields = {
  id: Text,
  email: Text,
  email_verified: Type.Boolean({
    description: 'False: nobody has proven that the user reads the mail of this address. It could be anyone’s.',
  }),
  name: Text,
  is_operator: Flag,
  has_password: Flag,
  has_second_factor: Flag,
};
export const User = view('User', userFields);
export type User = Static<typeof User>;

export const Member = view('Member', { ...userFields, role: Role, projects: ProjectRoles, since: Time });
export type Member = Static<typeof Member>;
export const MemberList = allOf(Member);

/** The fields of an invitation, without its link. */
const invitationFields = {
  id: Text,
  account_id: Text,
  account_name: Text,
  email: Text,
  role: Role,
  projects: ProjectRoles,
  created_at: Time,
  expires_at: Time,
};

/** The state of the mail with a link. */
export const LinkMail = view('LinkMail', {
  state: Type.Enum(['none', 'pending', 'sent', 'failed'], { description: 'None if no mail can be sent.' }),
  words: nullable(Text, 'Why it failed, or the latest attempt if it is pending, in words for users.'),
});
export type LinkMail = Static<typeof LinkMail>;

export const OpenInvitation = view('Invitation', { ...invitationFields, mail: LinkMail });
export type OpenInvitation = Static<typeof OpenInvitation>;
export const InvitationList = allOf(OpenInvitation);
export const InvitationCreated = Type.Object({ invitation: OpenInvitation, token: Text });
export type InvitationCreated = Static<typeof InvitationCreated>;

/** An invitation as its link shows it. */
export const OfferedInvitation = view('OfferedInvitation', invitationFields);
export type OfferedInvitation = Static<typeof OfferedInvitation>;

/** The fields of an audit event. */
export const auditFields = {
  id: Text,
  at: Time,
  actor: nullable(Text),
  actor_user_id: nullable(Text, 'The id of the user or the management key that acted; null for a command or an internal program.'),
  address: nullable(Text),
  action: Text,
  target_id: Text,
  detail: Type.Unsafe<Record<string, unknown>>(
    Type.Object({}, { additionalProperties: true, description: 'What was changed; its fields depend on the action.' }),
  ),
};
export const AccountAuditEvent = view('AccountAuditEvent', auditFields);
export type AccountAuditEvent = Static<typeof AccountAuditEvent>;
export const AccountAuditEventList = listOf(AccountAuditEvent);
export const AccountAuditFilter = Type.Object({
  actor: parameter('Who acted: the id of a user or a management key, or `operator` for commands of the operator and internal programs.'),
});

export const AccountSecurity = view('AccountSecurity', {
  require_second_factor: Type.Boolean({
    description: 'Members without a second factor cannot use the account, except in sessions that began at the identity provider.',
  }),
});
export type AccountSecurity = Static<typeof AccountSecurity>;
export const UpdateAccountSecurity = Type.Object(AccountSecurity.properties);

export const PutMember = Type.Object({ role: Role });
export const PutProjectMember = Type.Object({ role: Type.Enum(projectRoles) });
export const Invite = Type.Object({ email: Email, role: Role, projects: Type.Optional(ProjectRoles) });
export type Invite = Static<typeof Invite>;
