// The one way to make a service: the functions of its RPCs, bound to what they need.
import { callContext, type CallContext } from '#client/call-context.js';

/** An RPC as its own file exports it. A function that needs less leaves parameters out. */
type Rpc<Method, Deps> = Method extends (request: infer Request, context?: CallContext) => infer Response
  ? (request: Request, context: CallContext, deps: Deps) => Response
  : never;

/** The generated interfaces leave the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });

/** Returns the implementation of the generated interface `Service` over these dependencies. */
export function bindRpcs<Service, Deps>(rpcs: { readonly [Name in keyof Service]: Rpc<Service[Name], Deps> }, deps: Deps): Service {
  const bind = (rpc: Rpc<(request: never) => unknown, Deps>) => (request: never, context: CallContext) =>
    rpc(request, context ?? unknownCaller, deps);
  return Object.fromEntries(Object.entries(rpcs).map(([name, rpc]) => [name, bind(rpc as never)])) as Service;
}
