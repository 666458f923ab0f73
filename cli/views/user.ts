// The output of users and members.
import { type Member, Role, type User } from '#proto/auth/v1/users.js';
import { instant, instantJson, type View } from '../output.js';
import { wordsOf } from '../options/parse.js';

const roles = wordsOf<Role>(Role, 'ROLE_');

function userJson(user: User): Record<string, string | boolean | null> {
  return {
    id: user.id,
    email: user.email,
    email_verified: user.emailVerified,
    name: user.name,
    operator: user.isOperator,
    disabled: user.isDisabled,
    has_password: user.hasPassword,
    has_second_factor: user.hasSecondFactor,
    created_at: instantJson(user.createdAtMs),
  };
}

const stateOf = (user: User): string => (user.isDisabled ? 'disabled' : user.hasPassword ? 'active' : 'no password');

/** An address that nobody has verified could be anyone's. */
const emailOf = ({ email, emailVerified }: User): string => (emailVerified ? email : `${email} (unverified)`);

/** A user. */
export const userView: View<User> = {
  json: userJson,
  columns: [
    { title: 'user', text: ({ id }) => id },
    { title: 'email', text: emailOf },
    { title: 'name', text: ({ name }) => name },
    { title: 'state', text: stateOf },
    { title: 'operator', text: ({ isOperator }) => (isOperator ? 'yes' : '') },
    { title: 'second factor', text: ({ hasSecondFactor }) => (hasSecondFactor ? 'yes' : '') },
  ],
  details: [
    { title: 'user', text: ({ id }) => id },
    { title: 'email', text: emailOf },
    { title: 'name', text: ({ name }) => name },
    { title: 'state', text: stateOf },
    { title: 'operator', text: ({ isOperator }) => (isOperator ? 'yes' : 'no') },
    { title: 'second factor', text: ({ hasSecondFactor }) => (hasSecondFactor ? 'yes' : 'no') },
    { title: 'created', text: ({ createdAtMs }) => instant(createdAtMs) },
  ],
};

const projectsOf = ({ projectRoles }: Member): string => projectRoles.map((each) => `${each.projectId} ${roles.of(each.role)}`).join(', ');

/** A member of an account. */
export const memberView: View<Member> = {
  json: ({ user, role, projectRoles, joinedAtMs: sinceMs }) => ({
    ...userJson(user!),
    role: roles.of(role),
    projects: projectRoles.map((each) => ({ project: each.projectId, role: roles.of(each.role) })),
    since: instantJson(sinceMs),
  }),
  columns: [
    { title: 'email', text: ({ user }) => emailOf(user!) },
    { title: 'name', text: ({ user }) => user!.name },
    { title: 'role', text: ({ role }) => roles.of(role) },
    { title: 'projects', text: projectsOf },
    { title: 'since', text: ({ joinedAtMs: sinceMs }) => instant(sinceMs) },
  ],
  details: [
    { title: 'email', text: ({ user }) => emailOf(user!) },
    { title: 'role', text: ({ role }) => roles.of(role) },
    { title: 'projects', text: projectsOf },
    { title: 'since', text: ({ joinedAtMs: sinceMs }) => instant(sinceMs) },
  ],
};
