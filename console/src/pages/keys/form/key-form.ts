// The form for creating or changing a key, and the requests built from it. Pure.
import type { ApiKey, CreateKey, UpdateKey } from '../../../api/keys.js';
import {
  emptyRateLimits,
  rateLimitFaults,
  type RateLimitForm,
  rateLimitFormOf,
  type RateLimitName,
  rateLimitsOf,
  sameRateLimits,
} from '../../../format/rate-limits.js';
import { type BudgetRow, budgetRowsOf, budgetsMax, budgetsOf, hasBudgetFaults, sameBudgets } from '../../../format/budgets.js';
import { typedUsd } from '../../../format/money.js';
import type { Zone } from '../../../format/time.js';

/** Days until the expiry, never, or a custom time. */
export const expiryChoices = ['never', '30', '60', '90', 'custom'] as const;
type ExpiryChoice = (typeof expiryChoices)[number];

/** The chosen expiry. */
export interface ExpiryForm {
  readonly expiry: ExpiryChoice;
  /** For `custom`: date and time in the selected zone, in the format of the browser's control. */
  readonly expiresAt: string;
}

/** The current state of the form. */
export interface KeyForm extends ExpiryForm {
  readonly name: string;
  /** The id of a project; empty for the default project. */
  readonly project: string;
  /** As typed by the user. */
  readonly limit: string;
  readonly budgets: readonly BudgetRow[];
  readonly rateLimits: RateLimitForm;
  readonly access: 'all' | 'some';
  readonly models: readonly string[];
  /** As typed by the user, separated by white space or commas. */
  readonly addresses: string;
}

/** How many addresses and blocks a key may have. */
export const addressesMax = 50;

/** The faults of a form, by field. */
export interface KeyFormFaults {
  readonly name?: 'missing';
  readonly limit_usd?: 'form' | 'zero';
  readonly budgets?: 'form';
  readonly rate_limits?: readonly RateLimitName[];
  readonly expires_at?: 'form' | 'past';
  readonly models?: 'none';
  readonly allowed_addresses?: 'many';
}

export const emptyForm: KeyForm = {
  name: '',
  project: '',
  limit: '',
  budgets: [],
  rateLimits: emptyRateLimits,
  expiry: 'never',
  expiresAt: '',
  access: 'all',
  models: [],
  addresses: '',
};

const dayMs = 86_400_000;

/** Returns the form of an existing key. */
export function formOf(key: ApiKey, zone: Zone): KeyForm {
  return {
    name: key.name,
    project: key.project_id,
    limit: key.limit_usd ?? '',
    budgets: budgetRowsOf(key.budgets),
    rateLimits: rateLimitFormOf(key.rate_limits),
    expiry: key.expires_at === null ? 'never' : 'custom',
    expiresAt: key.expires_at === null ? '' : controlText(new Date(key.expires_at), zone),
    access: key.models === null ? 'all' : 'some',
    models: key.models ?? [],
    addresses: key.allowed_addresses.join('\n'),
  };
}

/** Returns when the key would expire; null for never, undefined for an invalid time. */
export function expiryOf(form: ExpiryForm, zone: Zone, nowMs: number): Date | null | undefined {
  if (form.expiry === 'never') return null;
  if (form.expiry !== 'custom') return new Date(nowMs + Number(form.expiry) * dayMs);
  const date = new Date(zone === 'utc' ? `${form.expiresAt}Z` : form.expiresAt);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** Returns the faults that are found before the form is sent. */
export function faultsOf(form: KeyForm, zone: Zone, nowMs: number): KeyFormFaults {
  const limit = limitOf(form);
  const expiry = expiryOf(form, zone, nowMs);
  const rateLimits = rateLimitFaults(form.rateLimits);
  return {
    ...(form.name.trim() === '' ? { name: 'missing' } : {}),
    ...(limit === null ? {} : !/^\d+(\.\d+)?$/.test(limit) ? { limit_usd: 'form' } : /^[0.]+$/.test(limit) ? { limit_usd: 'zero' } : {}),
    ...(hasBudgetFaults(form.budgets) ? { budgets: 'form' } : {}),
    ...(rateLimits.length === 0 ? {} : { rate_limits: rateLimits }),
    ...(expiry === undefined ? { expires_at: 'form' } : expiry !== null && expiry.getTime() <= nowMs ? { expires_at: 'past' } : {}),
    ...(form.access === 'some' && form.models.length === 0 ? { models: 'none' } : {}),
    ...(addressesOf(form).length > addressesMax ? { allowed_addresses: 'many' } : {}),
  };
}

/** Returns the request to create a key from a form without faults. */
export function newKeyOf(form: KeyForm, zone: Zone, nowMs: number): CreateKey {
  const limit = limitOf(form);
  const expiry = expiryOf(form, zone, nowMs);
  const addresses = addressesOf(form);
  return {
    name: form.name.trim(),
    ...(form.project === '' ? {} : { project_id: form.project }),
    ...(form.budgets.length === 0 ? {} : { budgets: budgetsOf(form.budgets) }),
    ...(limit === null ? {} : { limit_usd: limit }),
    ...(sameRateLimits(form.rateLimits, emptyRateLimits) ? {} : { rate_limits: rateLimitsOf(form.rateLimits) }),
    ...(expiry == null ? {} : { expires_at: expiry.toISOString() }),
    ...(form.access === 'some' ? { models: [...form.models] } : {}),
    ...(addresses.length === 0 ? {} : { allowed_addresses: addresses }),
  };
}

/** Returns the request for a changed form: only what differs from the original form, so that nothing else is changed. */
export function changesOf(before: KeyForm, after: KeyForm, zone: Zone, nowMs: number): UpdateKey {
  const differs = (...names: (keyof KeyForm)[]): boolean =>
    names.some((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
  return {
    ...(differs('name') ? { name: after.name.trim() } : {}),
    ...(differs('project') ? { project_id: after.project } : {}),
    ...(sameBudgets(before.budgets, after.budgets) ? {} : { budgets: budgetsOf(after.budgets) }),
    ...(limitOf(before) === limitOf(after) ? {} : { limit_usd: limitOf(after) }),
    ...(sameRateLimits(before.rateLimits, after.rateLimits) ? {} : { rate_limits: rateLimitsOf(after.rateLimits) }),
    ...(differs('expiry', 'expiresAt') ? { expires_at: expiryOf(after, zone, nowMs)?.toISOString() ?? null } : {}),
    ...(differs('access', 'models') ? { models: after.access === 'all' ? null : [...after.models] } : {}),
    ...(addressesOf(before).join() === addressesOf(after).join() ? {} : { allowed_addresses: addressesOf(after) }),
  };
}

/** Returns the addresses and blocks that were typed. */
export const addressesOf = ({ addresses }: Pick<KeyForm, 'addresses'>): string[] =>
  addresses.split(/[\s,]+/).filter((address) => address !== '');

/** How many budgets a key may have in addition to its limit, which counts as one. */
export const budgetsLeft = (form: KeyForm): number => budgetsMax - (limitOf(form) === null ? 0 : 1);

/** Null is no limit. */
function limitOf({ limit }: KeyForm): string | null {
  const text = typedUsd(limit);
  return text === '' ? null : text;
}

/** Returns an instant in the format of the browser's control for date and time. */
function controlText(date: Date, zone: Zone): string {
  const shown = zone === 'utc' ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
  return shown.toISOString().slice(0, 16);
}
