// Configuration in two pure steps: read variables from an environment, then parse them and report every fault at once.
import { serviceNames } from '#rules/services.js';

/** One setting: its variable and its valid values. */
export interface Setting<T> {
  /** Name of the environment variable. */
  readonly env: string;
  /** For the configuration reference and for error messages. */
  readonly description: string;
  /** Used when the variable is absent or empty; without it the setting is required. */
  readonly default?: T;
  /** Returns the value, or throws an Error whose message completes "NAME …". */
  readonly parse: (text: string) => T;
  /** The valid values, for the configuration reference: all of them, or the least and the greatest; absent: the description says what is valid. */
  readonly values?: readonly string[] | { readonly min: string; readonly max: string };
  /** Whether the value is never shown. */
  readonly secret?: boolean;
  /** Formats a value as a user would write it, for the configuration reference; absent: as it is. */
  show?(value: T): string;
}

/** Settings by the name that code uses. */
export type Settings = Readonly<Record<string, Setting<unknown>>>;

/** The parsed values of some settings. */
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never };

/** Holds all faults of a configuration; its message lists each on its own line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly string[]) {
    super(
      `The configuration has ${faults.length === 1 ? 'a fault' : `${faults.length} faults`}:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`,
    );
  }
}

interface Options<T> {
  default?: T;
  secret?: boolean;
}

/** Returns a setting for any text. */
export function text(env: string, description: string, options: Options<string> = {}): Setting<string> {
  return { env, description, ...options, parse: (value) => value };
}

/** Returns a setting for text that may be absent. */
export function optionalText(env: string, description: string, options: { secret?: boolean } = {}): Setting<string | undefined> {
  return { env, description, ...options, default: undefined, parse: (value) => value };
}

/** Returns a setting for a whole number from `min` to `max`. */
export function integer(env: string, description: string, options: Options<number> & { min: number; max: number }): Setting<number> {
  const { min, max, ...rest } = options;
  return {
    env,
    description,
    ...rest,
    values: { min: String(min), max: String(max) },
    parse(value) {
      const number = Number(value);
      if (!/^-?\d+$/.test(value) || number < min || number > max) throw new Error(`must be a whole number from ${min} to ${max}`);
      return number;
    },
  };
}

/** Returns a setting for a duration such as "250ms", "30s", "5m" or "1h"; its value is in milliseconds. */
export function duration(env: string, description: string, options: Options<number> & { minMs: number; maxMs: number }): Setting<number> {
  const { minMs, maxMs, ...rest } = options;
  return {
    env,
    description,
    ...rest,
    values: { min: durationText(minMs), max: durationText(maxMs) },
    parse(value) {
      const match = /^(\d+)(ms|s|m|h)$/.exec(value);
      const ms = match === null ? Number.NaN : Number(match[1]) * msByUnit[match[2] as keyof typeof msByUnit];
      if (!(ms >= minMs && ms <= maxMs))
        throw new Error(`must be a duration such as "30s", from ${durationText(minMs)} to ${durationText(maxMs)}`);
      return ms;
    },
    show: durationText,
  };
}

const msByUnit = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 } as const;

/** Returns a duration as it is written in a setting. */
export function durationText(ms: number): string {
  const unit = (['h', 'm', 's'] as const).find((each) => ms > 0 && ms % msByUnit[each] === 0) ?? 'ms';
  return `${ms / msByUnit[unit]}${unit}`;
}

/** Returns a setting for "true" or "false". */
export function flag(env: string, description: string, options: Options<boolean> = {}): Setting<boolean> {
  return {
    env,
    description,
    ...options,
    values: ['true', 'false'],
    parse(value) {
      if (value !== 'true' && value !== 'false') throw new Error('must be "true" or "false"');
      return value === 'true';
    },
  };
}

/** Returns a setting for one of the words. */
export function oneOf<const T extends string>(env: string, description: string, words: readonly T[], options: Options<T> = {}): Setting<T> {
  return {
    env,
    description,
    ...options,
    values: words,
    parse(value) {
      if (!(words as readonly string[]).includes(value)) throw new Error(`must be one of ${words.join(', ')}`);
      return value as T;
    },
  };
}

/** Returns the faults of settings that depend on each other. */
export type SettingsCheck = (env: Environment) => readonly string[];

/** Returns a check by `assert`, which raises ConfigError. It applies when each of the settings is valid, since otherwise their faults are listed anyway. */
export function checkTogether<S extends Settings>(settings: S, assert: (values: Values<S>) => void): SettingsCheck {
  return (env) => {
    const ownFaults: string[] = [];
    const values = parseValues(settings, env, ownFaults) as Values<S>;
    if (ownFaults.length > 0) return [];
    try {
      assert(values);
      return [];
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return error.faults;
    }
  };
}

/** Raises ConfigError if any of these settings is not at its default, although it has no effect without `lacking`; `fix` says what to set. */
export function assertUnchanged<S extends Settings>(settings: S, values: Values<S>, lacking: string, fix: string): void {
  const changed = Object.entries(settings).filter(([name, setting]) => values[name] !== setting.default);
  if (changed.length > 0)
    throw new ConfigError(changed.map(([, { env }]) => `${env} has no effect without ${lacking}; ${fix}, or remove it`));
}

/** Settings in named groups, for a process that is made of parts. */
export type SettingGroups = Readonly<Record<string, Settings>>;

/** The parsed values of groups of settings. */
export type GroupValues<G extends SettingGroups> = { readonly [K in keyof G]: Values<G[K]> };

/**
 * Parses the settings from an environment. An unknown variable that starts with one of `ownPrefixes` is a fault, reported with
 * the name that was probably meant, so that a misspelt setting never silently gets its default. Raises ConfigError with every fault.
 */
export function parseSettings<S extends Settings>(settings: S, env: Environment, ownPrefixes: readonly string[] = []): Values<S> {
  return parseGroups({ settings }, env, ownPrefixes).settings;
}

/**
 * Like `parseSettings`, for several groups at once: their faults are raised together with those that the checks find, and a name is known when any
 * group has it.
 */
export function parseGroups<G extends SettingGroups>(
  groups: G,
  env: Environment,
  ownPrefixes: readonly string[] = [],
  checks: readonly SettingsCheck[] = [],
): GroupValues<G> {
  const faults: string[] = [];
  const values = Object.fromEntries(Object.entries(groups).map(([name, settings]) => [name, parseValues(settings, env, faults)]));
  const known = Object.values(groups).flatMap((settings) => Object.values(settings).map((setting) => setting.env));
  for (const check of checks) faults.push(...check(env));
  faults.push(...unknownNames(known, env, ownPrefixes));
  // Several groups may have the same setting.
  if (faults.length > 0) throw new ConfigError([...new Set(faults)]);
  return values as GroupValues<G>;
}

/** Variables by name, such as process.env. */
export type Environment = Readonly<Record<string, string | undefined>>;

function parseValues(settings: Settings, env: Environment, faults: string[]): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const [name, setting] of Object.entries(settings)) {
    const raw = env[setting.env];
    if (raw === undefined || raw === '') {
      if ('default' in setting) values[name] = setting.default;
      else faults.push(`${setting.env} is required: ${setting.description}`);
      continue;
    }
    try {
      values[name] = setting.parse(raw);
    } catch (error) {
      const shown = setting.secret === true ? '' : ` (it is "${raw}")`;
      faults.push(`${setting.env} ${(error as Error).message}${shown}`);
    }
  }
  return values;
}

// Variables of test runs, which a developer's shell may have when a process is started by hand.
const testPrefix = 'TOLLGATE_TEST_';

/**
 * The platform key of clients in the docs and in the console's samples. A user who tries them may start Tollgate in the same shell, so it is never an unknown
 * setting.
 */
export const clientKeyVariable = 'TOLLGATE_API_KEY';

// Two typos. A process shares its environment with others, whose settings it must ignore, but a name this
// close to one of its own is meant for it.
const misspeltDistanceMax = 2;

// Settings that a service has only if it is a process of its own: its addresses, its database and its secret key file.
const ofServiceProcess = new RegExp(
  `^TOLLGATE_(${serviceNames.join('|').toUpperCase()})_(LISTEN|HEALTH_LISTEN|ADDRESS|DATABASE_URL|MIGRATION_DATABASE_URL|SECRET_KEY_FILE|METRICS_LISTEN)$`,
);

function unknownNames(known: readonly string[], env: Environment, ownPrefixes: readonly string[]): string[] {
  const faults: string[] = [];
  for (const name of Object.keys(env)) {
    if (known.includes(name) || !/^(TOLLGATE|OTEL)_/.test(name) || name.startsWith(testPrefix) || name === clientKeyVariable) continue;
    const isOwn = ownPrefixes.some((prefix) => name.startsWith(prefix));
    // Without the prefix that all settings share, which would make any of them look similar.
    const [prefix] = /^[A-Z]+_/.exec(name)!;
    const endings = known.filter((each) => each.startsWith(prefix)).map((each) => each.slice(prefix.length));
    const best = nearMatch(name.slice(prefix.length), endings, isOwn ? undefined : misspeltDistanceMax);
    const service = ofServiceProcess.exec(name)?.[1]!.toLowerCase();
    if (isOwn && service !== undefined) faults.push(`${name} is read only in distributed mode, by the ${service} process`);
    else if (best !== undefined) faults.push(`${name} is not a known setting; did you mean ${prefix}${best}?`);
    else if (isOwn) faults.push(`${name} is not a known setting`);
  }
  return faults;
}

/**
 * Returns the candidate that was probably meant: the one with the smallest edit distance, if that is at most `distanceMax` and at most a third
 * of the longer name. A suggestion that is less similar would only confuse.
 */
export function nearMatch(name: string, candidates: readonly string[], distanceMax = Number.POSITIVE_INFINITY): string | undefined {
  let best: string | undefined;
  let bestDistance = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const distance = editDistance(name, candidate);
    const isNear = distance <= distanceMax && distance * 3 <= Math.max(name.length, candidate.length);
    if (isNear && distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Returns how many characters must be inserted, deleted or replaced to turn one text into the other. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(previous[j]! + 1, current[j - 1]! + 1, substitution));
    }
    previous = current;
  }
  return previous[b.length]!;
}
