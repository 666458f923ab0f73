// Parses the headers of the messages format: its version and its beta flags.
import type { Context } from 'koa';
import { AppError } from '#client/errors/app-error.js';

/** The default if a caller sends none: the version that every client used before the header became optional. */
const versionDefault = '2023-06-01';

/** Returns the value of provider-version or anthropic-version, or the default. Throws invalid_request if it is not a date. */
export function versionOf(ctx: Context): string {
  for (const header of ['provider-version', 'anthropic-version']) {
    const version = ctx.get(header).trim();
    if (version === '') continue;
    if (!isDate(version)) {
      throw new AppError(
        'invalid_request',
        `${header}: "${version.slice(0, 50)}" is not a date of the form YYYY-MM-DD, for example ${versionDefault}.`,
        { details: { field: header } },
      );
    }
    return version;
  }
  return versionDefault;
}

const betasMax = 64;
const betaForm = /^[\w.:-]{1,100}$/;

/** Returns the flags of anthropic-beta, in order and at most 64. Malformed flags are skipped, because this header never fails a call. */
export function betasOf(ctx: Context): string[] {
  const flags = ctx
    .get('anthropic-beta')
    .split(',')
    .map((flag) => flag.trim());
  return flags.filter((flag) => betaForm.test(flag)).slice(0, betasMax);
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
