// Errors with a rule and parameters, so that a page can render them in any language (proto/rules/errors/error-sentences.ts).
import { type FieldRule, fieldRules, reasonOf, type Rule, type TemplateOf, templateOf } from '#rules/errors/error-sentences.js';
import { fill, type ParamsOf, type Value } from '#rules/errors/templates.js';
import { AppError, type AppErrorOptions } from './app-error.js';

type Given<Template extends string> = Readonly<Record<ParamsOf<Template>, Value>>;
type Last<Template extends string> = [ParamsOf<Template>] extends [never] ? [params?: undefined] : [params: Given<Template>];

/** The parameters of a rule for a field. */
export type FieldParams<R extends FieldRule> = Last<(typeof fieldRules)[R]>;

/** Returns an invalid_request that names the field and the rule that it violates. */
export function fieldFault<R extends FieldRule>(field: string, rule: R, ...[params]: FieldParams<R>): AppError {
  const details = { field, rule, ...texts(params) };
  return new AppError('invalid_request', `${field} ${fill(fieldRules[rule], details)}.`, { details });
}

/** Returns an error with the sentence and the reason of this rule. `options.details` may contain more than the sentence shows. */
export function fault<R extends Rule>(rule: R, params: Given<TemplateOf<R>>, options: AppErrorOptions = {}): AppError {
  const details = { rule, ...texts(params), ...options.details };
  return new AppError(reasonOf(rule), fill(templateOf(rule), details), { ...options, details });
}

function texts(params: Readonly<Record<string, Value>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)]));
}
