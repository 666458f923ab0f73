// The options --rpm, --tpm and --concurrency, and rate limits in output.
import type { Command } from 'commander';
import type { AccountRateLimits, RateLimits } from '#proto/auth/v1/auth.js';
import type { Json } from '../output.js';
import { parseCount } from './parse.js';

/** A limit as given on the command line; 0 is no limit. Commander turns null into an empty text. */
type Given = number | 'default';

/** The options of a command that sets rate limits. */
export interface RateLimitOptions {
  readonly rpm?: Given;
  readonly tpm?: Given;
  readonly concurrency?: Given;
}

/** Adds the options to a command. */
export function withRateLimits(command: Command): Command {
  const values = ', none, or default for the default of the installation';
  return command
    .option('--rpm <number>', `requests per minute${values}`, parseLimit(1_000_000))
    .option('--tpm <number>', `input and output tokens per minute${values}`, parseLimit(1_000_000_000))
    .option('--concurrency <number>', `calls in flight${values}`, parseLimit(1_000_000));
}

const parseLimit =
  (max: number) =>
  (text: string): Given =>
    text === 'default' ? text : text === 'none' ? 0 : parseCount(text, 1, max, ['none', 'default']);

/** Reports whether a limit is given. */
export function hasRateLimits({ rpm, tpm, concurrency }: RateLimitOptions): boolean {
  return rpm !== undefined || tpm !== undefined || concurrency !== undefined;
}

/** Returns limits as the options change them. */
export function changedRateLimits(before: RateLimits | undefined, { rpm, tpm, concurrency }: RateLimitOptions): RateLimits {
  const changed = (given: Given | undefined, present: number | undefined): number | undefined =>
    given === undefined ? present : given === 'default' ? undefined : given;
  return {
    requestsPerMinute: changed(rpm, before?.requestsPerMinute),
    tokensPerMinute: changed(tpm, before?.tokensPerMinute),
    concurrentCalls: changed(concurrency, before?.concurrentCalls),
  };
}

/** Returns the limits of something new; undefined if no option is given. */
export function newRateLimits(options: RateLimitOptions): RateLimits | undefined {
  return hasRateLimits(options) ? changedRateLimits(undefined, options) : undefined;
}

/** Returns the limits of an account with those of one model, or of all models together, as the options change them. */
export function changedAccountRateLimits(
  before: AccountRateLimits | undefined,
  modelId: string | undefined,
  options: RateLimitOptions,
): AccountRateLimits {
  const { allModels, models = [] } = before ?? {};
  if (modelId === undefined) return { allModels: changedRateLimits(allModels, options), models };
  const present = models.find((each) => each.modelId === modelId)?.limits;
  const others = models.filter((each) => each.modelId !== modelId);
  return { allModels, models: [...others, { modelId, limits: changedRateLimits(present, options) }] };
}

/** Returns limits as text such as "60 rpm, 5 at once"; "default" if none is set. */
export function rateLimitsText(limits: RateLimits | undefined): string {
  const part = (value: number | undefined, unit: string): string[] =>
    value === undefined ? [] : [value === 0 ? `no limit of ${unit}` : `${value} ${unit}`];
  const parts = [
    ...part(limits?.requestsPerMinute, 'rpm'),
    ...part(limits?.tokensPerMinute, 'tpm'),
    ...part(limits?.concurrentCalls, 'calls at once'),
  ];
  return parts.length === 0 ? 'default' : parts.join(', ');
}

/** Returns the limits of single models as text; empty if none is set. */
export function modelRateLimitsText(limits: AccountRateLimits | undefined): string {
  return (limits?.models ?? []).map(({ modelId, limits: ofModel }) => `${modelId}: ${rateLimitsText(ofModel)}`).join('; ');
}

/** Returns limits as JSON: null stands for the default, 0 for no limit. */
export function rateLimitsJson(limits: RateLimits | undefined): { [name: string]: Json } {
  return {
    rpm: limits?.requestsPerMinute ?? null,
    tpm: limits?.tokensPerMinute ?? null,
    concurrency: limits?.concurrentCalls ?? null,
  };
}

/** Returns the limits of an account as JSON. */
export function accountRateLimitsJson(limits: AccountRateLimits | undefined): { [name: string]: Json } {
  const models = limits?.models ?? [];
  return {
    ...rateLimitsJson(limits?.allModels),
    models: Object.fromEntries(models.map(({ modelId, limits: ofModel }) => [modelId, rateLimitsJson(ofModel)])),
  };
}
