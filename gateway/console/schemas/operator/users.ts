// Users, for operators.
import { type Static, Type } from 'typebox';
import { LinkMail, userFields } from '../members.js';
import { Email, Flag, listOf, Name, nullable, optional, parameter, Password, Time, view } from '../shapes.js';

export const OperatorUser = view('UserForOperators', { ...userFields, is_disabled: Flag, created_at: Time });
export type OperatorUser = Static<typeof OperatorUser>;
export const UserList = listOf(OperatorUser);

export const SignInLink = view('SignInLink', {
  url: Type.String({ description: 'Signs the user in, once.' }),
  expires_at: Time,
  mail: LinkMail,
});
export type SignInLink = Static<typeof SignInLink>;

export const UserCreated = Type.Object({
  user: OperatorUser,
  link: nullable(SignInLink, 'For a user without a password. It is only in this answer.'),
});
export type UserCreated = Static<typeof UserCreated>;

export const ListUsers = Type.Object({ search: parameter('Part of the name, the email address or the id.') });
/** Without a password the user signs in with a link. */
export const CreateUser = Type.Object({
  email: Email,
  name: optional(Name),
  password: optional(Password),
  is_operator: optional(Type.Boolean()),
});
export type CreateUser = Static<typeof CreateUser>;
export const UpdateUser = Type.Object({
  name: Type.Optional(Name),
  is_disabled: Type.Optional(Type.Boolean()),
  is_operator: Type.Optional(Type.Boolean()),
});
export type UpdateUser = Static<typeof UpdateUser>;
