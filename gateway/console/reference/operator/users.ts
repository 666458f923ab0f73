// People, for operators.
import { Type } from 'typebox';
import { operatorBodies } from '../../routes/operator/operator-bodies.js';
import { MailOfLink, personFields } from '../members.js';
import { type Area, made, ok } from '../operation.js';
import { Ended } from '../profile.js';
import { Flag, listOf, nullable, Time, view } from '../shapes.js';

const PersonForOperators = view('PersonForOperators', { ...personFields, is_disabled: Flag, email_verified: Flag, created_at: Time });
const Link = view('SignInLink', { url: Type.String({ description: 'Signs the person in, once.' }), expires_at: Time, mail: MailOfLink });

export const userArea: Area = {
  title: 'Operators: people',
  description: 'Everybody who can sign in, and how they get in.',
  operations: [
    {
      method: 'GET',
      path: '/operator/users',
      summary: 'List users.',
      who: 'operator',
      query: { search: 'Found in the name, the address or the id.' },
      paged: true,
      answers: [ok(listOf(PersonForOperators))],
    },
    {
      method: 'POST',
      path: '/operator/users',
      summary: 'Add a person.',
      who: 'operator',
      body: operatorBodies.createUser.schema,
      answers: [
        made(Type.Object({ user: PersonForOperators, link: nullable(Link, 'Of somebody without a password; in this answer only.') })),
      ],
      refusals: { already_exists: 'Somebody with this address is known already.' },
    },
    {
      method: 'PATCH',
      path: '/operator/users/{user}',
      summary: 'Rename, disable or enable a person, or make them an operator or none.',
      who: 'operator',
      body: operatorBodies.updateUser.schema,
      answers: [ok(PersonForOperators)],
      refusals: { failed_precondition: 'It is yourself who would be disabled, or the last operator who can sign in.' },
    },
    {
      method: 'POST',
      path: '/operator/users/{user}/link',
      summary: 'Make a link that signs a person in once, and mail it too where mail can be sent; those made before end.',
      who: 'operator',
      answers: [ok(Link)],
    },
    {
      method: 'DELETE',
      path: '/operator/users/{user}/sessions',
      summary: 'Sign a person out everywhere; oneself everywhere else.',
      who: 'operator',
      answers: [ok(Ended)],
    },
  ],
};
