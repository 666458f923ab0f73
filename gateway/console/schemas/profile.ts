// The signed-in user and their sessions.
import { type Static, Type } from 'typebox';
import { ProjectRole, Role, User, userFields } from './members.js';
import { RateLimits } from './rate-limits.js';
import { allOf, Count, Email, Flag, Name, nullable, optional, Password, SealedToken, Text, Time, view } from './shapes.js';
import { permissions } from './words.js';

export const Me = view('Me', {
  user: User,
  session: Type.Object({ id: Text, by_link: Flag, expires_at: Time }),
  second_factor_missing: Type.Boolean({
    description: 'A second factor is required here: until the user has set one up, they have no accounts.',
  }),
  second_factor_accounts: Type.Array(Type.Object({ id: Text, name: Text }), {
    description: 'Accounts that require a second factor: until the user has set one up, they are not in `accounts`.',
  }),
  accounts: Type.Array(
    Type.Object({
      id: Text,
      name: Text,
      suspended: Flag,
      role: Role,
      projects: Type.Array(ProjectRole, { description: 'The roles in individual projects, in addition to the role in the account.' }),
      permissions: Type.Array(Type.Enum(permissions)),
    }),
  ),
});
export type Me = Static<typeof Me>;
export type AccountOfMine = Me['accounts'][number];
export type Permission = (typeof permissions)[number];

export const Session = view('Session', {
  id: Text,
  present: Type.Boolean({ description: 'Whether this is the session of the request.' }),
  created_at: Time,
  last_used_at: Time,
  expires_at: Time,
  address: Text,
  browser: nullable(Text, 'For example "Firefox 140".'),
  system: nullable(Text, 'For example "Windows".'),
  user_agent: Text,
});
export type Session = Static<typeof Session>;
export const SessionList = allOf(Session);

/** An identity at a provider with which a user signs in. */
export const Identity = view('Identity', { id: Text, provider: Text, email: nullable(Text), created_at: Time });
export type Identity = Static<typeof Identity>;
export const IdentityList = allOf(Identity);
export const IdentityBegun = Type.Object({ location: Text });

/** The number of sessions that were ended. */
export const Ended = Type.Object({ ended: Count });
export type Ended = Static<typeof Ended>;

export const GatewaySettings = Type.Object({
  trace_url: nullable(Text, 'An address with {trace_id} in it; null: traces are not shown.'),
  default_rate_limits: Type.Object(
    { key: RateLimits, project: RateLimits, account: RateLimits, account_model: RateLimits },
    {
      description: 'The default limits of keys, projects, accounts, and models within accounts. Null or 0: no limit.',
    },
  ),
});
export type GatewaySettings = Static<typeof GatewaySettings>;

export const UpdateMe = Type.Object({ name: optional(Name), email: optional(Email), current_password: optional(Password) });
export type UpdateMe = Static<typeof UpdateMe>;
export const UpdatedUser = view('UpdatedUser', {
  ...userFields,
  email_link_sent: Type.Boolean({
    description: 'A link was emailed to the new address. Until it is used, the user has the former address.',
  }),
});
export type UpdatedUser = Static<typeof UpdatedUser>;
export const ConfirmEmail = Type.Object({ token: SealedToken });
export const SetPassword = Type.Object({ current_password: optional(Password), new_password: Password });
export type SetPassword = Static<typeof SetPassword>;
export const ConnectIdentity = Type.Object({ current_password: optional(Password) });
