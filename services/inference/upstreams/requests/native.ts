// If the caller and an upstream use the same format, the upstream gets the caller's own fields; otherwise it gets a body built from the
// common call, which cannot express everything. Pure.
import { AppError } from '#client/errors/app-error.js';
import { ApiFormat, type GenerateRequest, type NativeRequest } from '#proto/inference/v1/inference.js';

/** Returns the caller's own fields if this is their format. */
export function nativeFor(request: Pick<GenerateRequest, 'native'>, format: ApiFormat): NativeRequest | undefined {
  return request.native?.format === format ? request.native : undefined;
}

/** Fields of the common call that a format names differently. */
const callersNames: Partial<Record<ApiFormat, Readonly<Record<string, string>>>> = {
  [ApiFormat.API_FORMAT_CHAT_COMPLETIONS]: {
    stop_sequences: 'stop',
    thinking: 'reasoning_effort',
    'output_config.effort': 'reasoning_effort',
  },
  [ApiFormat.API_FORMAT_RESPONSES]: {
    max_tokens: 'max_output_tokens',
    verbosity: 'text.verbosity',
    thinking: 'reasoning.effort',
    'output_config.effort': 'reasoning.effort',
  },
};

/** Returns the name of a field of the common call in the caller's format, for errors and dropped fields. */
export function callersNameOf(field: string, { native }: Pick<GenerateRequest, 'native'>): string {
  return (native === undefined ? undefined : callersNames[native.format]?.[field]) ?? field;
}

/** Returns why an upstream of this format cannot honour the request; undefined if it can. The error is shown to the caller. */
export function refusalFor({ native, embedding }: Pick<GenerateRequest, 'native' | 'embedding'>, format: ApiFormat): AppError | undefined {
  if (embedding !== undefined && format === ApiFormat.API_FORMAT_MESSAGES)
    return new AppError('unsupported_field', 'model: the upstream of this model has no embeddings.', { details: { field: 'model' } });
  const refusal = native === undefined || native.format === format ? undefined : native.refusedElsewhere[0];
  if (refusal === undefined) return undefined;
  return new AppError('unsupported_field', `${refusal.field}: ${refusal.text}`, { details: { field: refusal.field } });
}

/** Returns the caller's fields that are dropped for an upstream of this format, not including those that the format's own code drops. */
export function droppedFor({ native }: Pick<GenerateRequest, 'native'>, format: ApiFormat): readonly string[] {
  return native === undefined || native.format === format ? [] : native.droppedElsewhere;
}
