import { commonSettings } from '../common.js';
import type { Environment } from '../settings.js';
import { otelLibrarySettings } from './library-settings.js';

/** Returns the OTEL_… variables that are set but have no effect here, such as those of SDKs in other languages. */
export function unusedOtelNames(env: Environment): string[] {
  const known = new Set(Object.values({ ...commonSettings(''), ...otelLibrarySettings }).map((setting) => setting.env));
  return Object.keys(env).filter((name) => name.startsWith('OTEL_') && env[name] !== '' && !known.has(name));
}
