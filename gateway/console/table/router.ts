// The routes of the table: each request is checked as its operation declares, then passed to its handler.
import Router from '@koa/router';
import type { Context, Middleware } from 'koa';
import { fault } from '#client/errors/fault.js';
import { Role } from '#proto/auth/v1/users.js';
import { contextOf } from '../session/call-contexts.js';
import { compressed } from '../../http/middleware/compressed.js';
import type { OperationDeps } from '../deps.js';
import { assertScope } from '../session/management-key.js';
import { accountOf, signedIn, visitorOf } from '../session/session.js';
import type { Area, Call, Operation } from './operation.js';
import { readers } from './request.js';

/** Adds a route for each operation. */
export function addRoutes(router: Router, areas: readonly Area[], deps: OperationDeps): void {
  for (const operation of areas.flatMap(({ operations }) => operations)) {
    // Model ids may contain slashes.
    const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => (name === 'model' ? '*model' : `:${name}`));
    router.register(path, [operation.method], [routeOf(operation, deps)]);
  }
}

const isFile = (type: string): boolean => ['text/csv', 'application/x-ndjson'].includes(type);

function routeOf(operation: Operation, deps: OperationDeps): Middleware {
  const { who, scope, answers } = operation;
  const read = readers(operation);
  const session = signedIn(deps);
  const handle = operation.handle as (call: Call, deps: OperationDeps) => unknown;
  const route: Middleware = async (ctx: Context) => {
    const json = read.json(ctx);
    // Before the session is read: a user could otherwise send the end of a body after they have lost their role or their session.
    await json.catch(() => undefined);
    // Everything else runs within the session, so that all RPCs act for its user.
    await (who === 'anyone' ? serve(ctx, json) : session(ctx, () => serve(ctx, json)));
  };
  // Files hold no secrets; JSON may.
  return answers[0]?.types?.includes('text/csv') === true ? compressed(route, isFile) : route;

  async function serve(ctx: Context, json: Promise<unknown>): Promise<void> {
    const { accountId, role, projectIds } = admitted(ctx, who, scope);
    const { query, page } = read.query(ctx);
    const idempotencyKey = read.idempotencyKey(ctx, accountId === '' ? 'console' : accountId);
    const body = read.body(await json);
    ctx.status = answers[0]!.status;
    const call: Call = {
      ctx,
      params: ctx['params'] as Record<string, string>,
      query,
      page,
      idempotencyKey,
      body,
      accountId,
      role,
      projectIds,
      get visitor() {
        return visitorOf(ctx);
      },
      readmit: (run) =>
        session(ctx, () => {
          admitted(ctx, who, scope);
          return run();
        }),
      context: (patience) => contextOf(deps, patience),
    };
    const answer = await handle(call, deps);
    if (answer !== undefined) ctx.body = answer;
  }
}

/** Raises not_found for operations that only operators may call, so that other users cannot find out what exists, and role_not_permitted. */
function admitted(ctx: Context, who: Operation['who'], scope: Operation['scope']): ReturnType<typeof accountOf> {
  const managementKey = who === 'anyone' ? undefined : visitorOf(ctx).managementKey;
  if (managementKey !== undefined) assertScope(managementKey, scope);
  if (who === 'operator' && !visitorOf(ctx).user.isOperator) throw fault('no_path', {}, { details: { what: 'path' } });
  if (who === 'anyone' || who === 'signed in' || who === 'operator') {
    return { accountId: '', role: Role.ROLE_UNSPECIFIED, projectIds: undefined };
  }
  return accountOf(ctx, who);
}
