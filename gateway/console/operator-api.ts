// What the console's operator pages ask, below /console/api/operator: for operators alone. To everybody else there is nothing here.
import type Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import type { ConsoleDeps } from './deps.js';
import { accountRoutes } from './routes/operator/accounts.js';
import { auditRoutes } from './routes/operator/audit.js';
import { catalogRoutes } from './routes/operator/catalog-routes.js';
import { codeRoutes } from './routes/operator/codes.js';
import { creditRoutes } from './routes/operator/credits.js';
import { healthRoutes } from './routes/operator/health.js';
import { userRoutes } from './routes/operator/users.js';
import { visitorOf } from './session.js';

/** Adds the routes; `known` lets in who has a session. */
export function addOperatorRoutes(router: Router, known: Middleware, deps: ConsoleDeps): void {
  const base = '/operator';
  router.use(base, known, operatorOnly());
  accountRoutes(router, base, deps);
  creditRoutes(router, base, deps);
  userRoutes(router, base, deps);
  auditRoutes(router, base, deps);
  healthRoutes(router, base, deps);
  catalogRoutes(router, base, deps);
  codeRoutes(router, base, deps);
}

/** Lets in operators. Raises not_found for others, so that nobody learns what there is. */
function operatorOnly(): Middleware {
  return async (ctx: Context, next: Next) => {
    if (!visitorOf(ctx).user.isOperator) throw new AppError('not_found', 'There is nothing here.', { details: { what: 'path' } });
    await next();
  };
}
