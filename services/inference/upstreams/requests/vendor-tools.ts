// The tools of a caller that the vendor may run. An upstream receives those that the call pays for by their unit, and those that its operator
// allows, because they cost more than tokens. Pure.
import { AppError } from '#client/errors/app-error.js';
import type { ApiFormat, GenerateRequest, NativeRequest_VendorTool as VendorTool } from '#proto/inference/v1/inference.js';
import { nativeFor } from './native.js';
import type { JsonObject } from '../answers/stream-decoder.js';

function mayRun({ type, unit }: VendorTool, { unitCaps }: Pick<GenerateRequest, 'unitCaps'>, allowedFields: readonly string[]): boolean {
  return unitCaps?.counts.some((cap) => cap.unit === unit) === true || allowedFields.includes(`tools.${type}`);
}

/** Raises unsupported_field if a call depends on a tool that it does not pay for, and whose type, as tools.<type>, is not among the allowed fields. */
export function assertToolsAllowed(
  request: Pick<GenerateRequest, 'native' | 'unitCaps'>,
  format: ApiFormat,
  allowedFields: readonly string[],
): void {
  const refused = nativeFor(request, format)?.vendorTools.find(
    (tool) => tool.optionalToolJson === undefined && !mayRun(tool, request, allowedFields),
  );
  if (refused === undefined) return;
  const { field, type, unit } = refused;
  if (unit !== '') throw unpriced(field, unit);
  throw new AppError(
    'unsupported_field',
    `${field}: tools of the type "${type.slice(0, 64)}" are not supported, because the vendor may run them and they cost more than tokens; run the tool on your side and describe it as a function`,
    { details: { field } },
  );
}

/** Reports whether the vendor may run tools for a request of the format. */
export function mayRunTools(
  request: Pick<GenerateRequest, 'native' | 'unitCaps'>,
  format: ApiFormat,
  allowedFields: readonly string[],
): boolean {
  return nativeFor(request, format)?.vendorTools.some((tool) => mayRun(tool, request, allowedFields)) === true;
}

/** Returns a request of the format with those of the optional tools that the upstream may run; the names of the others are returned as dropped. */
export function withOptionalTools(
  request: GenerateRequest,
  format: ApiFormat,
  allowedFields: readonly string[],
): { readonly request: GenerateRequest; readonly dropped: readonly string[] } {
  const native = nativeFor(request, format);
  const optional = native?.vendorTools.filter(({ optionalToolJson }) => optionalToolJson !== undefined) ?? [];
  const [run, left] = [true, false].map((isRun) => optional.filter((tool) => mayRun(tool, request, allowedFields) === isRun));
  const dropped = left!.map(({ type }) => `tools.${type}`);
  if (native === undefined || run!.length === 0) return { request, dropped };
  const fields = JSON.parse(native.fieldsJson) as JsonObject;
  const tools = [
    ...((fields['tools'] as unknown[] | undefined) ?? []),
    ...run!.map(({ optionalToolJson }) => JSON.parse(optionalToolJson!) as unknown),
  ];
  return { request: { ...request, native: { ...native, fieldsJson: JSON.stringify({ ...fields, tools }) } }, dropped };
}

/** Raises unsupported_field as for a call, except that tools with a unit pass: counting runs no tool. */
export function assertToolsCountable(request: Pick<GenerateRequest, 'native'>, format: ApiFormat, allowedFields: readonly string[]): void {
  const units = (request.native?.vendorTools ?? []).map(({ unit }) => unit).filter((unit) => unit !== '');
  assertToolsAllowed({ ...request, unitCaps: { counts: units.map((unit) => ({ unit, count: 1 })) } }, format, allowedFields);
}

function unpriced(field: string, unit: string): AppError {
  return new AppError(
    'unsupported_field',
    `${field}: the model has no price for the unit "${unit}", so its vendor may not run this; leave it out, or choose a model that has one (unit_prices in GET /v1/models)`,
    { details: { field } },
  );
}
