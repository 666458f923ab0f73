// The bodies of what people do for themselves: sign up, change who they are, connect an identity.
import { Type } from 'typebox';
import { optional } from '../formats/fields.js';
import { readBody } from './bodies.js';

const Email = Type.String({ maxLength: 300 });
const Secret = Type.String({ maxLength: 1024 });
const Name = Type.String({ minLength: 1, maxLength: 200 });

/** A reader for each body; each raises invalid_request that names the field. */
export const peopleBodies = {
  signUp: readBody(Type.Object({ email: Email, name: Name, password: Secret, account_name: Name })),
  profile: readBody(Type.Object({ name: optional(Name), email: optional(Email), current_password: optional(Secret) })),
  requestReset: readBody(Type.Object({ email: Email })),
  finishReset: readBody(Type.Object({ token: Type.String({ maxLength: 100 }), new_password: Secret })),
  identity: readBody(Type.Object({ current_password: optional(Secret) })),
};
