// POST /v1/messages/count_tokens: the input tokens of a request, free of charge.
import type { Context, Middleware } from 'koa';
import { callContext } from '#kit/rpc/call-context.js';
import { parseCountTokens } from '../formats/messages/request.js';
import { leaving } from '../leaving.js';
import { type CallDeps, assertPermitted } from '../metered-call.js';
import { readJson } from '../middleware/json-body.js';
import { stateOf } from '../request-state.js';
import { versionOf } from './version.js';

/** Creates the route. */
export function countTokens({ peers, models, config }: CallDeps): Middleware {
  return async (ctx: Context) => {
    const parsed = parseCountTokens(await readJson(ctx, config.bodyBytesMax), { version: versionOf(ctx) });
    const { model, targets } = models.resolve(parsed.model);
    assertPermitted(stateOf(ctx).key!, model);
    const { prompt, reasoning, messagesVersion } = parsed.request;
    const counted = await peers.inference.countTokens(
      { targets: [...targets], prompt, reasoning, messagesVersion, native: undefined, responseFormat: undefined },
      callContext({ caller: 'gateway', timeoutMs: config.callTimeoutMs, signal: leaving(ctx.res) }),
    );
    if (counted.estimated) ctx.set('x-tollgate-estimated', 'true');
    ctx.body = { input_tokens: counted.inputTokens };
  };
}
