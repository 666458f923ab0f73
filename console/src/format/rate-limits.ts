// The rate limits in forms, and the requests built from them. Pure.
import type { RateLimits } from '../../../gateway/console/schemas/rate-limits.js';

/** The limits as typed by the user. */
export interface RateLimitForm {
  readonly rpm: string;
  readonly tpm: string;
  readonly concurrency: string;
}

export const rateLimitNames = ['rpm', 'tpm', 'concurrency'] as const;
export type RateLimitName = (typeof rateLimitNames)[number];

export const emptyRateLimits: RateLimitForm = { rpm: '', tpm: '', concurrency: '' };

const maxima: Readonly<Record<RateLimitName, number>> = { rpm: 1_000_000, tpm: 1_000_000_000, concurrency: 1_000_000 };

/** Returns the form for existing limits. */
export function rateLimitFormOf(limits: RateLimits): RateLimitForm {
  const text = (value: number | null): string => (value === null ? '' : String(value));
  return { rpm: text(limits.rpm), tpm: text(limits.tpm), concurrency: text(limits.concurrency) };
}

/** Returns the names of the fields that are not whole numbers in their range. */
export function rateLimitFaults(form: RateLimitForm): RateLimitName[] {
  return rateLimitNames.filter((name) => !/^\d{0,10}$/.test(form[name].trim()) || Number(form[name]) > maxima[name]);
}

/** Returns the limits of a form without faults. Null: the default of the installation. */
export function rateLimitsOf(form: RateLimitForm): RateLimits {
  const value = (text: string): number | null => (text.trim() === '' ? null : Number(text));
  return { rpm: value(form.rpm), tpm: value(form.tpm), concurrency: value(form.concurrency) };
}

/** Reports whether two forms mean the same limits. */
export const sameRateLimits = (a: RateLimitForm, b: RateLimitForm): boolean =>
  rateLimitNames.every((name) => a[name].trim() === b[name].trim());
