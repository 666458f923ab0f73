// Who belongs to an account, who is asked in, and what was done there.
import { Type } from 'typebox';
import { roleNames } from '../access.js';
import { bodies } from '../bodies.js';
import { type Area, done, made, ok } from './operation.js';
import { allOf, Flag, listOf, nullable, Text, Time, view } from './shapes.js';

const Role = Type.Enum(Object.keys(roleNames));

/** Of a person, as they and their fellow members see them. */
export const personFields = { id: Text, email: Text, name: Text, is_operator: Flag, has_password: Flag };
export const Person = view('Person', personFields);

const Member = view('Member', { ...personFields, role: Role, since: Time });

/** Of an invitation, without its link. */
export const invitationFields = {
  id: Text,
  account_id: Text,
  account_name: Text,
  email: Text,
  role: Role,
  created_at: Time,
  expires_at: Time,
};
/** How the mail with a link stands. */
export const MailOfLink = view('MailOfLink', {
  state: Type.Enum(['none', 'pending', 'sent', 'failed'], { description: 'Of the mail with the link; none where no mail can be sent.' }),
  words: nullable(Text, 'Why it failed, for users.'),
});

const Invitation = view('Invitation', { ...invitationFields, mail: MailOfLink });

/** Of an entry of the audit log. */
export const auditFields = {
  id: Text,
  at: Time,
  actor: nullable(Text),
  address: nullable(Text),
  action: Text,
  target_id: Text,
  detail: Type.Object({}, { additionalProperties: true, description: 'What was done, by the kind of the action.' }),
};

const ownersOnly = { role_not_permitted: 'Also: only owners make, change and remove owners.' };

export const memberArea: Area = {
  title: 'Members',
  description: 'Who belongs to an account, who is asked in, and what they changed.',
  operations: [
    { method: 'GET', path: '/accounts/{account}/members', summary: 'List the members.', who: 'look', answers: [ok(allOf(Member))] },
    {
      method: 'PUT',
      path: '/accounts/{account}/members/{user}',
      summary: 'Give a member another role.',
      who: 'change members',
      body: bodies.putMember.schema,
      answers: [ok(Member)],
      refusals: { ...ownersOnly, failed_precondition: 'An account keeps an owner.' },
    },
    {
      method: 'DELETE',
      path: '/accounts/{account}/members/{user}',
      summary: 'Remove a member; oneself with any role.',
      who: 'change members',
      answers: [done()],
      refusals: { ...ownersOnly, failed_precondition: 'An account keeps an owner.' },
    },
    {
      method: 'GET',
      path: '/accounts/{account}/invitations',
      summary: 'List the invitations that are open.',
      who: 'change members',
      answers: [ok(allOf(Invitation))],
    },
    {
      method: 'POST',
      path: '/accounts/{account}/invitations',
      summary: 'Ask somebody in.',
      who: 'change members',
      body: bodies.invite.schema,
      answers: [
        made(
          Type.Object({ invitation: Invitation, token: Text }),
          'The token of the link is in this answer and in no other, and in a mail to the invited where mail can be sent.',
        ),
      ],
      refusals: {
        ...ownersOnly,
        already_exists: 'They belong to the account already.',
        failed_precondition: 'There are 100 open invitations already; take some back.',
      },
    },
    {
      method: 'DELETE',
      path: '/accounts/{account}/invitations/{id}',
      summary: 'Take an invitation back.',
      who: 'change members',
      answers: [done()],
    },
    {
      method: 'GET',
      path: '/accounts/{account}/audit',
      summary: 'List what was changed in the account, newest first.',
      who: 'change members',
      paged: true,
      answers: [ok(listOf(view('AccountAuditEntry', auditFields)))],
    },
  ],
};
