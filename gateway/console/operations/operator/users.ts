// Users, for operators: listed, created, changed, sent a sign-in link, and signed out everywhere.
import { fault } from '#client/errors/fault.js';
import { CreateUserRequest, RevokeSessionsRequest, ListUsersRequest, UpdateUserRequest, type User } from '#proto/auth/v1/users.js';
import type { OperationDeps } from '../../deps.js';
import { updateMaskOf } from '../../table/update-mask.js';
import { publicAddress } from '../../../http/public-address.js';
import { languageOf } from '../../session/session.js';
import { renderLinkMail, renderOperatorUser } from '../../render/users.js';
import { instant, orNull } from '../../render/values.js';
import { CreateUser, ListUsers, OperatorUser, SignInLink, UpdateUser, UserCreated, UserList } from '../../schemas/operator/users.js';
import { Ended } from '../../schemas/profile.js';
import { type Area, type Call, created, ok, operation } from '../../table/operation.js';

export const users: Area = {
  title: 'Operators: users',
  description: 'All users, and how they sign in.',
  operations: [
    operation('GET', '/operator/users', {
      summary: 'List the users.',
      who: 'operator',
      query: ListUsers,
      paged: true,
      answers: [ok(UserList)],
      handle: async ({ query, page, context }, { peers }) => {
        const request = ListUsersRequest.fromPartial({ ...page, search: query.search ?? '' });
        const { users: found, nextPageToken } = await peers.users.listUsers(request, context());
        return { data: found.map(renderOperatorUser), next: orNull(nextPageToken) };
      },
    }),
    operation('POST', '/operator/users', {
      summary: 'Create a user.',
      who: 'operator',
      body: CreateUser,
      answers: [created(UserCreated)],
      errors: { already_exists: 'A user with this address already exists.' },
      handle: async (call, deps) => {
        const { body, context } = call;
        const request = CreateUserRequest.fromPartial({
          email: body.email,
          name: body.name ?? body.email.trim(),
          password: body.password ?? '',
          isOperator: body.is_operator ?? false,
        });
        const { user } = await deps.peers.users.createUser(request, context('patient'));
        const { hasPassword } = user!;
        const link = hasPassword ? null : await createLink(call, user!, deps);
        return { user: renderOperatorUser(user!), link };
      },
    }),
    operation('PATCH', '/operator/users/{user}', {
      summary: 'Rename, disable or enable a user, or grant or revoke the operator role.',
      who: 'operator',
      body: UpdateUser,
      answers: [ok(OperatorUser)],
      errors: { failed_precondition: 'The change would disable you, or the last operator who can sign in.' },
      handle: async (call, deps) => {
        const { body, visitor, context } = call;
        const before = await userInPath(call, deps);
        if (before.id === visitor.user.id && body.is_disabled === true) throw fault('not_yourself', {});
        const { user } = await deps.peers.users.updateUser(
          UpdateUserRequest.fromPartial({
            userId: before.id,
            name: body.name ?? '',
            isDisabled: body.is_disabled === true,
            isOperator: body.is_operator === true,
            keepLastOperator: true,
            updateMask: updateMaskOf(body, { name: 'name', is_disabled: 'is_disabled', is_operator: 'is_operator' }),
          }),
          context(),
        );
        return renderOperatorUser(user!);
      },
    }),
    operation('POST', '/operator/users/{user}/link', {
      summary: 'Create a link that signs a user in once, and email it if mail can be sent; earlier links stop working.',
      who: 'operator',
      answers: [ok(SignInLink)],
      handle: async (call, deps) => createLink(call, await userInPath(call, deps), deps),
    }),
    operation('DELETE', '/operator/users/{user}/second-factors', {
      summary: 'Remove all second factors of a user who has lost them.',
      who: 'operator',
      answers: [ok(OperatorUser)],
      handle: async ({ ctx, params, context }, { peers }) => {
        const { user } = await peers.users.resetSecondFactors({ userId: params.user, language: languageOf(ctx) }, context());
        return renderOperatorUser(user!);
      },
    }),
    operation('DELETE', '/operator/users/{user}/sessions', {
      summary: 'Sign a user out everywhere. Your own current session continues.',
      who: 'operator',
      answers: [ok(Ended)],
      handle: async (call, deps) => {
        const { visitor, context } = call;
        const user = await userInPath(call, deps);
        const exceptSessionId = user.id === visitor.user.id ? visitor.session.id : '';
        const { revoked: ended } = await deps.peers.users.revokeSessions(
          RevokeSessionsRequest.fromPartial({ userId: user.id, exceptSessionId }),
          context(),
        );
        return { ended };
      },
    }),
  ],
};

async function createLink({ ctx, context }: Pick<Call, 'ctx' | 'context'>, user: User, deps: OperationDeps): Promise<SignInLink> {
  const { token, expiresAtMs, mailState, mailError } = await deps.peers.users.createSignInLink(
    { email: user.email, sendMail: true, language: languageOf(ctx) },
    context(),
  );
  // Browsers do not send the fragment, so that no access log contains the token.
  return {
    url: `${publicAddress(ctx, deps.config)}/console/link#${token}`,
    expires_at: instant(expiresAtMs),
    mail: renderLinkMail(mailState, mailError),
  };
}

async function userInPath({ params: { user: id }, context }: Call<'user'>, { peers }: OperationDeps): Promise<User> {
  const { users: found } = await peers.users.listUsers(ListUsersRequest.fromPartial({ search: id, pageSize: 1 }), context());
  if (found[0]?.id !== id) throw fault('no_such_id', { what: 'user' });
  return found[0];
}
