// The low-balance alert of an account.
import type { Context, Middleware } from 'koa';
import { AppError } from '#client/errors/app-error.js';
import { parseUsd } from '#rules/money.js';
import type { Role } from '#proto/auth/v1/users.js';
import { permissionsOf } from '../access.js';
import { noteAudit } from '../audit.js';
import { contextOf, contextWithin } from '../call-contexts.js';
import type { ConsoleDeps } from '../deps.js';
import { pageOf } from '../paging.js';
import { renderAlert, renderAlertNow, renderDelivery } from '../render/alerts.js';
import { orNull } from '../render/values.js';
import { accountOf } from '../session.js';
import { alertBodies } from './alert-bodies.js';

/** A mail server may take its time, and who presses the button wants to see what it says. */
const testTimeoutMs = 30_000;

/** GET alerts. */
export function getAlert(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId, role } = accountOf(ctx, 'look');
    ctx.body = renderAlertNow(await deps.peers.alerts.getAlert({ accountId }, contextOf(deps)), mayChange(role));
  };
}

/** PUT alerts: the webhook's secret is in the answer that makes it and nowhere else, ever. */
export function putAlert(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change money');
    const body = await alertBodies.putAlert(ctx);
    const { alert, webhookSecret } = await deps.peers.alerts.putAlert(
      {
        accountId,
        enabled: body.enabled,
        thresholdNanoUsd: thresholdOf(body.threshold_usd),
        emails: body.emails ?? [],
        webhookUrl: body.webhook_url ?? '',
        rotateWebhookSecret: body.rotate_webhook_secret ?? false,
      },
      contextOf(deps),
    );
    const { enabled, threshold_usd, emails, webhook_url } = renderAlert(alert!);
    await noteAudit(ctx, deps, {
      accountId,
      action: 'alert.put',
      targetId: accountId,
      detail: { enabled, threshold_usd, emails, webhook_url, secret_made: webhookSecret !== '' },
    });
    ctx.body = { alert: renderAlert(alert!), webhook_secret: orNull(webhookSecret) };
  };
}

/** POST alerts/test: sends at once and answers with what came of it. */
export function testAlert(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId } = accountOf(ctx, 'change money');
    const { deliveries } = await deps.peers.alerts.testAlert({ accountId }, contextWithin(testTimeoutMs));
    await noteAudit(ctx, deps, { accountId, action: 'alert.test', targetId: accountId });
    ctx.body = { data: deliveries.map((delivery) => renderDelivery(delivery, true)) };
  };
}

/** GET alerts/deliveries: newest first. */
export function listAlertDeliveries(deps: ConsoleDeps): Middleware {
  return async (ctx: Context) => {
    const { accountId, role } = accountOf(ctx, 'look');
    const { deliveries, nextPageToken } = await deps.peers.alerts.listAlertDeliveries({ accountId, ...pageOf(ctx) }, contextOf(deps));
    ctx.body = { data: deliveries.map((delivery) => renderDelivery(delivery, mayChange(role))), next: orNull(nextPageToken) };
  };
}

function mayChange(role: Role): boolean {
  return permissionsOf(role).includes('change money');
}

function thresholdOf(text: string): bigint {
  const nanoUsd = parseUsd(text);
  if (nanoUsd === undefined || nanoUsd <= 0n)
    throw new AppError('invalid_request', 'threshold_usd: must be above zero', { details: { field: 'threshold_usd' } });
  return nanoUsd;
}
