// How a route of the console's API is described. Pure.
import type { TSchema } from 'typebox';
import type { Reason } from '#rules/reasons.js';
import type { Permission } from '../access.js';

/** A route. */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below /console/api, with `{names}` for what varies. */
  readonly path: string;
  /** One sentence. */
  readonly summary: string;
  /** Who may ask; a permission is one in the account of the path. */
  readonly who: 'everybody' | 'signed in' | Permission | 'operator';
  /** Parameters of the address by their names. */
  readonly query?: Readonly<Record<string, string>>;
  /** Whether it takes `limit` and `cursor` too. */
  readonly paged?: boolean;
  /** What the header Idempotency-Key is for, where it is taken. */
  readonly idempotency?: string;
  /** The schema that validates. */
  readonly body?: TSchema;
  readonly answers: readonly Answer[];
  /** Refusals beside those that are possible everywhere, with why. */
  readonly refusals?: Readonly<Partial<Record<Reason, string>>>;
}

/** An answer that is no refusal. */
export interface Answer {
  readonly status: number;
  readonly description: string;
  /** Of JSON. */
  readonly schema?: TSchema;
  /** Media types other than JSON in which it can come. */
  readonly types?: readonly string[];
}

/** The routes of one area. */
export interface Area {
  readonly title: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

/** 200 with JSON. */
export function ok(schema: TSchema, description = 'The answer.'): Answer {
  return { status: 200, description, schema };
}

/** 201 with JSON. */
export function made(schema: TSchema, description = 'Made.'): Answer {
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
