// Texts with {parameters}: {max:call} is a number with its noun, "1 call" or "2 calls". Pure.
import { formatUsd } from '../money/money.js';

/** What a parameter may be; `*_nano_usd` is an amount in nano-USD. */
export type Value = string | number | bigint;

/** The names of the parameters of a template. */
export type ParamsOf<Template extends string> = Template extends `${string}{${infer Name}}${infer Rest}`
  ? WithoutNoun<Name> | ParamsOf<Rest>
  : never;
type WithoutNoun<Name extends string> = Name extends `${infer Number}:${string}` ? Number : Name;

/** A template with its parameters in place; a noun is in the plural unless its number is 1, and a kind of object is written in words. */
export function fill(template: string, params: Readonly<Record<string, Value>>): string {
  return template.replace(/\{(\w+)(?::(\w+))?\}/g, (whole, name: string, noun: string | undefined) => {
    const value = params[name];
    if (value === undefined) return whole;
    if (noun !== undefined) return `${value} ${String(value) === '1' ? noun : `${noun.replace(/ry$/, 'rie')}s`}`;
    if (name === 'what') return String(value).replaceAll('_', ' ');
    return name.endsWith('_nano_usd') ? `$${formatUsd(BigInt(value))}` : String(value);
  });
}
