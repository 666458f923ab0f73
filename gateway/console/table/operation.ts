// An operation of the console's API: one object that defines its route, its checks, its description and its types.
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { Static, TObject, TProperties, TSchema } from 'typebox';
import type { CallContext } from '#client/call-context.js';
import type { Role } from '#proto/auth/v1/users.js';
import type { Reason } from '#rules/errors/reasons.js';
import type { Scope } from '#rules/access/scopes.js';
import type { Permission } from '../schemas/profile.js';
import type { Patience } from '../session/call-contexts.js';
import type { OperationDeps } from '../deps.js';
import type { Visitor } from '../session/session.js';

/** Who may call an operation; a permission applies to the account in the path. */
type Who = 'anyone' | 'signed in' | Permission | 'operator';

/** Holds one request, after its session, permission, parameters and body have been checked. */
export interface Call<Params extends string = string, Query = unknown, Body = unknown> {
  readonly ctx: Context;
  readonly params: Readonly<Record<Params, string>>;
  readonly query: Query;
  readonly body: Body;
  /** The requested page, for lists. */
  readonly page: { readonly pageSize: number; readonly pageToken: string };
  /** The Idempotency-Key header, scoped to the account or to operators; empty when absent. */
  readonly idempotencyKey: string;
  /** The user who is signed in, or for whom a management key acts. */
  readonly visitor: Visitor;
  /** The account in the path, for operations that need a permission in it. */
  readonly accountId: string;
  /** The user's role in the account. */
  readonly role: Role;
  /** The only projects of the account that the user may see; undefined for all. */
  readonly projectIds: readonly string[] | undefined;
  /** Reads the session again, and runs the function within it. Raises what admission raises if the user may no longer do this. */
  readmit(run: () => Promise<void>): Promise<void>;
  /** Returns the context of an RPC for this request. */
  context(patience?: Patience): CallContext;
}

/** Describes a successful answer. */
export interface Answer<S extends TSchema = TSchema> {
  readonly status: number;
  readonly description: string;
  /** The schema of a JSON body. */
  readonly schema?: S;
  /** Other media types that the answer can have. */
  readonly types?: readonly string[];
}

type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsOf<Rest> : never;
type ValueOf<A> = A extends Answer<infer S> ? (TSchema extends S ? void : Static<S>) : never;

interface Described {
  /** The summary in the document: one sentence. */
  readonly summary: string;
  readonly who: Who;
  /** The scope with which a management key may call it, in addition to its user's role. Absent: only with a session. */
  readonly scope?: Scope;
  /** Whether it also has the parameters `limit` and `cursor`. */
  readonly paged?: boolean;
  /** What the Idempotency-Key header does, if it is read. */
  readonly idempotency?: string;
  /** Whether the request is rejected without that header. */
  readonly idempotencyRequired?: boolean;
  /** How errors name nested fields: `models.0` by default; with `brackets` as the catalog does, `routes[0].upstream_id`. */
  readonly fieldPaths?: 'brackets';
  /** Whether another handler reads the body. */
  readonly bodyIsForwarded?: boolean;
  /** Errors in addition to those of every operation, with their causes. */
  readonly errors?: Readonly<Partial<Record<Reason, string>>>;
}

/** An operation of the table. */
export interface Operation extends Described {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** The path below /console/api, with `{names}` for parameters. */
  readonly path: string;
  readonly query?: TObject;
  readonly body?: TSchema;
  readonly answers: readonly Answer[];
  handle(call: never, deps: OperationDeps): unknown;
}

/** Declares an operation; its handler's types follow from its path and schemas. The handler returns the body of the answer. */
export function operation<const Path extends string, Q extends TProperties, B extends TSchema, const A extends readonly Answer[]>(
  method: Operation['method'],
  path: Path,
  declared: Described & {
    readonly query?: TObject<Q>;
    readonly body?: B;
    /** The status of the first one is the default. */
    readonly answers: A;
    handle(
      call: Call<ParamsOf<Path>, Static<TObject<Q>>, Static<B>>,
      deps: OperationDeps,
    ): ValueOf<A[number]> | Readable | Promise<ValueOf<A[number]> | Readable>;
  },
): Operation {
  return { method, path, ...declared } as unknown as Operation;
}

/** Holds the operations of one area. */
export interface Area {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** Describes a 200 response with JSON. */
export function ok<S extends TSchema>(schema: S, description = 'The answer.'): Answer<S> {
  return { status: 200, description, schema };
}

/** Describes a 201 response with JSON. */
export function created<S extends TSchema>(schema: S, description = 'Created.'): Answer<S> {
  return { status: 201, description, schema };
}

/** Describes a 204 response. */
export function done(description = 'Done.'): Answer {
  return { status: 204, description };
}

/** Describes a 200 response with a file. */
export function file(description: string, ...types: string[]): Answer {
  return { status: 200, description, types };
}
