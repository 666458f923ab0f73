// Who one is, and where one is signed in.
import { Type } from 'typebox';
import { roleNames } from '../access.js';
import { bodies } from '../bodies.js';
import { peopleBodies } from '../people-bodies.js';
import { Person } from './members.js';
import { type Area, done, ok } from './operation.js';
import { allOf, Count, Flag, nullable, Text, Time, view } from './shapes.js';

const Me = view('Me', {
  user: Person,
  session: Type.Object({ id: Text, by_link: Flag, expires_at: Time }),
  accounts: Type.Array(
    Type.Object({
      id: Text,
      name: Text,
      suspended: Flag,
      role: Type.Enum(Object.keys(roleNames)),
      permissions: Type.Array(Type.Enum(['look', 'change keys', 'change money', 'change members'])),
    }),
  ),
});

const Session = view('Session', {
  id: Text,
  present: Type.Boolean({ description: 'It is the one that asks.' }),
  created_at: Time,
  last_used_at: Time,
  expires_at: Time,
  address: Text,
  user_agent: Text,
});

const Identity = view('Identity', { id: Text, provider: Text, email: nullable(Text), created_at: Time });

/** How many sessions were ended. */
export const Ended = Type.Object({ ended: Count });

const passwordNeeded = {
  sign_in_refused: 'The present password is wrong or missing.',
  sign_in_throttled: 'Too many attempts failed; wait for `retry-after`.',
};

export const profileArea: Area = {
  title: 'Oneself',
  description: 'What people see and change of themselves.',
  operations: [
    {
      method: 'GET',
      path: '/me',
      summary: 'Show who is signed in, and the accounts that they belong to.',
      who: 'signed in',
      answers: [ok(Me)],
    },
    {
      method: 'PATCH',
      path: '/me',
      summary: 'Change one’s name, or with the present password one’s address.',
      who: 'signed in',
      body: peopleBodies.profile.schema,
      answers: [ok(Person)],
      refusals: { ...passwordNeeded, already_exists: 'The address is in use.' },
    },
    {
      method: 'PUT',
      path: '/me/password',
      summary: 'Change one’s password.',
      who: 'signed in',
      body: bodies.password.schema,
      answers: [done()],
      refusals: passwordNeeded,
    },
    {
      method: 'GET',
      path: '/me/identities',
      summary: 'List the identities by which one signs in.',
      who: 'signed in',
      answers: [ok(allOf(Identity))],
    },
    {
      method: 'POST',
      path: '/me/identities',
      summary: 'Begin to connect an identity.',
      who: 'signed in',
      body: peopleBodies.identity.schema,
      answers: [ok(Type.Object({ location: Text }), 'Where the browser is to go.')],
      refusals: { ...passwordNeeded, not_found: 'No identity provider is set up.' },
    },
    {
      method: 'DELETE',
      path: '/me/identities/{id}',
      summary: 'Disconnect an identity.',
      who: 'signed in',
      answers: [done()],
      refusals: { failed_precondition: 'It is the only way in.' },
    },
    { method: 'GET', path: '/me/sessions', summary: 'List where one is signed in.', who: 'signed in', answers: [ok(allOf(Session))] },
    { method: 'DELETE', path: '/me/sessions', summary: 'Sign out everywhere else.', who: 'signed in', answers: [ok(Ended)] },
    { method: 'DELETE', path: '/me/sessions/{id}', summary: 'End one session.', who: 'signed in', answers: [ok(Ended)] },
    {
      method: 'GET',
      path: '/settings',
      summary: 'Show what pages must know of this gateway.',
      who: 'signed in',
      answers: [ok(Type.Object({ trace_url: nullable(Text, 'An address with {trace_id} in it.') }))],
    },
  ],
};
