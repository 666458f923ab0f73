// Builds a service from the functions of its RPCs, bound to their dependencies.
import { callContext, type CallContext } from '#client/call-context.js';

/** An RPC as its own file exports it. A function may omit parameters that it does not need. */
type Rpc<Method, Deps> = Method extends (request: infer Request, context?: CallContext) => infer Response
  ? (request: Request, context: CallContext, deps: Deps) => Response
  : never;

/** In the generated interfaces the context is optional. A transport always passes one, so only tests call without, as the operator. */
const withoutTransport = callContext({ caller: 'operator' });

/** Returns the implementation of the generated interface `Service` over these dependencies. */
export function bindRpcs<Service, Deps>(rpcs: { readonly [Name in keyof Service]: Rpc<Service[Name], Deps> }, deps: Deps): Service {
  const bind = (rpc: Rpc<(request: never) => unknown, Deps>) => (request: never, context: CallContext) =>
    rpc(request, context ?? withoutTransport, deps);
  return Object.fromEntries(Object.entries(rpcs).map(([name, rpc]) => [name, bind(rpc as never)])) as Service;
}
