// Management keys of an account, with which programs call this API.
import { type Static, Type } from 'typebox';
import { scopes } from '#rules/access/scopes.js';
import { AllowedAddresses } from './keys.js';
import { allOf, brokenAs, Instant, Name, nullable, optional, Text, Time, view } from './shapes.js';

const Scope = Type.Enum([...scopes]);

/** A management key without its secret. */
export const ManagementKey = view('ManagementKey', {
  id: Text,
  name: Text,
  last_four: Text,
  state: Type.Enum(['active', 'expired', 'revoked', 'user_lost_access'], {
    description: 'user_lost_access: the user for whom the key acts is disabled, or no longer belongs to the account or the project.',
  }),
  scopes: Type.Array(Scope),
  project_id: nullable(Text, 'Null: all projects that the user may see.'),
  user: Type.Object({ id: Text, email: Text, name: Text }, { description: 'The user for whom the key acts.' }),
  allowed_addresses: Type.Array(Text),
  expires_at: nullable(Time),
  created_at: Time,
  revoked_at: nullable(Time),
  last_used_at: nullable(Time, 'Accurate to the minute.'),
});
export type ManagementKey = Static<typeof ManagementKey>;
export const ManagementKeyList = allOf(ManagementKey);
export const ManagementKeyCreated = Type.Object({ key: ManagementKey, secret: Text });
export type ManagementKeyCreated = Static<typeof ManagementKeyCreated>;

export const CreateManagementKey = Type.Object({
  name: Name,
  scopes: Type.Array(Scope, {
    minItems: 1,
    description:
      'Writing includes reading. A key of one project cannot have billing:read, projects:write, webhooks:read or webhooks:write.',
    ...brokenAs('some_distinct_known'),
  }),
  project_id: optional(Text),
  allowed_addresses: optional(AllowedAddresses),
  expires_at: optional(Instant),
});
export type CreateManagementKey = Static<typeof CreateManagementKey>;
