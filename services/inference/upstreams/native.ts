// Where the caller and an upstream speak one format, the upstream gets the caller's own fields; everywhere else a body made from the
// common call, which cannot say everything. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { GenerateRequest, NativeRequest, ApiFormat } from '#proto/inference/v1/inference.js';

/** The caller's own fields, if this is their format. */
export function nativeFor(request: Pick<GenerateRequest, 'native'>, format: ApiFormat): NativeRequest | undefined {
  return request.native?.format === format ? request.native : undefined;
}

/** Why an upstream of this format cannot honour the request; undefined when it can. The error is the caller's to read. */
export function refusalFor({ native }: Pick<GenerateRequest, 'native'>, format: ApiFormat): AppError | undefined {
  const refusal = native === undefined || native.format === format ? undefined : native.refusedElsewhere[0];
  if (refusal === undefined) return undefined;
  return new AppError('unsupported_field', `${refusal.field}: ${refusal.text}`, { details: { field: refusal.field } });
}

/** The caller's fields that are dropped for an upstream of this format, before what its own format adds to them. */
export function droppedFor({ native }: Pick<GenerateRequest, 'native'>, format: ApiFormat): readonly string[] {
  return native === undefined || native.format === format ? [] : native.droppedElsewhere;
}
