// People, for operators: found, added, disabled, made operators, given a way in, and signed out everywhere.
import type Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { CreateUserRequest, RevokeSessionsRequest, ListUsersRequest, UpdateUserRequest, type User } from '#proto/auth/v1/users.js';
import { noteAudit } from '../../audit.js';
import { contextOf, patient } from '../../call-contexts.js';
import type { ConsoleDeps } from '../../deps.js';
import { pageOf, queryText } from '../../paging.js';
import { publicAddress } from '../../public-address.js';
import { renderUserForOperator } from '../../render/operator.js';
import { renderMail } from '../../render/people.js';
import { orNull } from '../../render/values.js';
import { visitorOf } from '../../session.js';
import { updateMaskOf } from '../../update-mask.js';
import { operatorBodies } from './operator-bodies.js';

/** Adds the routes below `base`, behind what lets in operators alone. */
export function userRoutes(router: Router, base: string, deps: ConsoleDeps): void {
  router.get(`${base}/users`, listUsers(deps));
  router.post(`${base}/users`, createUser(deps));
  router.patch(`${base}/users/:user`, updateUser(deps));
  router.post(`${base}/users/:user/link`, createLink(deps));
  router.delete(`${base}/users/:user/sessions`, revokeSessions(deps));
}

/** GET users?search=… */
function listUsers(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const request = ListUsersRequest.fromPartial({ ...pageOf(ctx), search: queryText(ctx, 'search') });
    const { users, nextPageToken } = await deps.peers.users.listUsers(request, contextOf(deps));
    ctx.body = { data: users.map(renderUserForOperator), next: orNull(nextPageToken) };
  };
}

/** POST users. Without a password the answer has a link that signs the person in once, and nothing else ever has. */
function createUser(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await operatorBodies.createUser(ctx);
    const request = CreateUserRequest.fromPartial({
      email: body.email,
      name: body.name ?? body.email.trim(),
      password: body.password ?? '',
      isOperator: body.is_operator ?? false,
    });
    const { user } = await deps.peers.users.createUser(request, patient());
    const detail = { email: user!.email, name: user!.name, is_operator: user!.isOperator, has_password: user!.hasPassword };
    await noteAudit(ctx, deps, { accountId: '', action: 'user.create', targetId: user!.id, detail });
    const link = user!.hasPassword ? null : await linkFor(ctx, user!, deps);
    ctx.status = 201;
    ctx.body = { user: renderUserForOperator(user!), link };
  };
}

/** PATCH users/{id}. An operator who can sign in always stays. */
function updateUser(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const body = await operatorBodies.updateUser(ctx);
    const before = await userInPath(ctx, deps);
    if (before.id === visitorOf(ctx).user.id && body.is_disabled === true)
      throw new AppError('failed_precondition', 'You cannot disable yourself; let another operator do it.');
    const { user } = await deps.peers.users.updateUser(
      UpdateUserRequest.fromPartial({
        userId: before.id,
        name: body.name ?? '',
        isDisabled: body.is_disabled === true,
        isOperator: body.is_operator === true,
        keepLastOperator: true,
        updateMask: updateMaskOf(body, { name: 'name', is_disabled: 'is_disabled', is_operator: 'is_operator' }),
      }),
      contextOf(deps),
    );
    const shown = (each: User) => ({ name: each.name, is_disabled: each.isDisabled, is_operator: each.isOperator });
    await noteAudit(ctx, deps, {
      accountId: '',
      action: 'user.update',
      targetId: before.id,
      detail: { email: before.email, before: shown(before), after: shown(user!) },
    });
    ctx.body = renderUserForOperator(user!);
  };
}

/** POST users/{id}/link: a link that signs the person in once; those made before end. */
function createLink(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const user = await userInPath(ctx, deps);
    ctx.body = await linkFor(ctx, user, deps);
  };
}

/** DELETE users/{id}/sessions: signs the person out everywhere. */
function revokeSessions(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const user = await userInPath(ctx, deps);
    const { session, user: self } = visitorOf(ctx);
    // Who asks for themselves stays where they are.
    const exceptSessionId = user.id === self.id ? session.id : '';
    const { revoked: ended } = await deps.peers.users.revokeSessions(
      RevokeSessionsRequest.fromPartial({ userId: user.id, exceptSessionId }),
      contextOf(deps),
    );
    await noteAudit(ctx, deps, { accountId: '', action: 'user.end_sessions', targetId: user.id, detail: { email: user.email, ended } });
    ctx.body = { ended };
  };
}

async function linkFor(ctx: Context, user: User, deps: ConsoleDeps) {
  const { token, expiresAtMs, mailState, mailError } = await deps.peers.users.createSignInLink(
    { email: user.email, sendMail: true },
    contextOf(deps),
  );
  await noteAudit(ctx, deps, { accountId: '', action: 'user.link', targetId: user.id, detail: { email: user.email } });
  // In the fragment, which a browser keeps to itself, so that no log of an address holds it.
  return {
    url: `${publicAddress(ctx, deps.config)}/console/link#${token}`,
    expires_at: new Date(Number(expiresAtMs)).toISOString(),
    mail: renderMail(mailState, mailError),
  };
}

async function userInPath(ctx: Context, deps: ConsoleDeps): Promise<User> {
  const id = String(ctx['params'].user);
  const { users } = await deps.peers.users.listUsers(ListUsersRequest.fromPartial({ search: id, pageSize: 1 }), contextOf(deps));
  if (users[0]?.id !== id) throw new AppError('not_found', 'There is nobody with this id.', { details: { what: 'user' } });
  return users[0];
}
