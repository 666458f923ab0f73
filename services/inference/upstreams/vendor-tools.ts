// The tools of a caller that the vendor may run. An upstream receives those that its operator allows, because they cost more than tokens. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { ApiFormat, GenerateRequest } from '#proto/inference/v1/inference.js';
import { nativeFor } from './native.js';

/** Raises unsupported_field if a caller of this format sends a tool whose type, as tools.<type>, is not among the allowed fields. */
export function assertToolsAllowed(request: Pick<GenerateRequest, 'native'>, format: ApiFormat, allowedFields: readonly string[]): void {
  const refused = nativeFor(request, format)?.vendorTools.find(({ type }) => !allowedFields.includes(`tools.${type}`));
  if (refused === undefined) return;
  const { field, type } = refused;
  throw new AppError(
    'unsupported_field',
    `${field}: tools of the type "${type.slice(0, 64)}" are not supported, because the vendor may run them and they cost more than tokens; run the tool on your side and describe it as a function`,
    { details: { field } },
  );
}
