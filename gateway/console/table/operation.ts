// An operation of the console's API: one object from which its route, its checks, its description and its types follow.
import type { Readable } from 'node:stream';
import type { Context } from 'koa';
import type { Static, TObject, TProperties, TSchema } from 'typebox';
import type { CallContext } from '#client/call-context.js';
import type { Role } from '#proto/auth/v1/users.js';
import type { Reason } from '#rules/reasons.js';
import type { Permission } from '../schemas/profile.js';
import type { Patience } from '../session/call-contexts.js';
import type { OperationDeps } from '../deps.js';
import type { Visitor } from '../session/session.js';

/** Who may call an operation; a permission is one in the account of the path. */
export type Who = 'anyone' | 'signed in' | Permission | 'operator';

/** One request, after its session, permission, parameters and body have been checked. */
export interface Call<Params extends string = string, Query = unknown, Body = unknown> {
  readonly ctx: Context;
  readonly params: Readonly<Record<Params, string>>;
  readonly query: Query;
  readonly body: Body;
  /** Of a list. */
  readonly page: { readonly pageSize: number; readonly pageToken: string };
  /** The header Idempotency-Key in the scope of the account, or of operators; empty without it. */
  readonly idempotencyKey: string;
  /** The user who is signed in. */
  readonly visitor: Visitor;
  /** The account of the path, for operations that need a permission in one. */
  readonly accountId: string;
  /** The role of the user there. */
  readonly role: Role;
  /** The context of an RPC that this request makes. */
  context(patience?: Patience): CallContext;
}

/** A successful answer. */
export interface Answer<S extends TSchema = TSchema> {
  readonly status: number;
  readonly description: string;
  /** Of JSON. */
  readonly schema?: S;
  /** Media types other than JSON in which it can come. */
  readonly types?: readonly string[];
}

type ParamsOf<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsOf<Rest> : never;
type ValueOf<A> = A extends Answer<infer S> ? (TSchema extends S ? void : Static<S>) : never;

interface Described<Path extends string> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below /console/api, with `{names}` for what varies. */
  readonly path: Path;
  /** One sentence. */
  readonly summary: string;
  readonly who: Who;
  /** Whether it takes `limit` and `cursor` too. */
  readonly paged?: boolean;
  /** What the header Idempotency-Key is for, where it is read. */
  readonly idempotency?: string;
  /** Whether the request is rejected without that header. */
  readonly idempotencyRequired?: boolean;
  /** How errors name fields inside others: `models.0` unless it is `brackets`, `routes[0].upstream_id`, as the catalog itself does. */
  readonly fieldPaths?: 'brackets';
  /** Whether the body is left unread for another handler. */
  readonly bodyIsForwarded?: boolean;
  /** Errors beside those that are possible everywhere, with why. */
  readonly errors?: Readonly<Partial<Record<Reason, string>>>;
}

/** An operation of the table. */
export interface Operation extends Described<string> {
  readonly query?: TObject;
  readonly body?: TSchema;
  readonly answers: readonly Answer[];
  handle(call: never, deps: OperationDeps): unknown;
}

/** Declares an operation; its handler's types follow from its path and schemas. The handler returns the body of the answer. */
export function operation<const Path extends string, Q extends TProperties, B extends TSchema, const A extends readonly Answer[]>(
  declared: Described<Path> & {
    readonly query?: TObject<Q>;
    readonly body?: B;
    /** The first one's status is the usual one. */
    readonly answers: A;
    handle(
      call: Call<ParamsOf<Path>, Static<TObject<Q>>, Static<B>>,
      deps: OperationDeps,
    ): ValueOf<A[number]> | Readable | Promise<ValueOf<A[number]> | Readable>;
  },
): Operation {
  return declared as unknown as Operation;
}

/** The operations of one area. */
export interface Area {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** 200 with JSON. */
export function ok<S extends TSchema>(schema: S, description = 'The answer.'): Answer<S> {
  return { status: 200, description, schema };
}

/** 201 with JSON. */
export function created<S extends TSchema>(schema: S, description = 'Created.'): Answer<S> {
  return { status: 201, description, schema };
}

/** 204. */
export function done(description = 'Done.'): Answer {
  return { status: 204, description };
}

/** 200 with a file. */
export function file(description: string, ...types: string[]): Answer {
  return { status: 200, description, types };
}
