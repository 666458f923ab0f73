import { describe, expect, it } from '@jest/globals';
import { parseSettings } from '#kit/config/settings.js';
import { commonSettings } from '#kit/config/common.js';
import { otelLibrarySettings } from '#kit/config/otel/library-settings.js';
import { processSettings } from '../testing/process-settings.js';
import { distributedSettings, forLauncher, passedOn } from './config.js';

const { operator: _, ...processes } = processSettings;
/** Set by the launcher itself: addresses, certificates, and a flag for installations without certificates. */
const ofLauncher = /^(PORT|TOLLGATE_(TLS_\w+|TRUST_NETWORK|\w+_ADDRESS))$/;

describe.each(Object.entries(processes))('the settings of %s', (name, settings) => {
  const env = Object.fromEntries(
    Object.values(settings)
      .filter((each) => !ofLauncher.test(each.env))
      .map((each) => [each.env, 'x']),
  );

  it('are passed on by the launcher', () => {
    expect(passedOn(env, name)).toEqual(env);
  });

  it('are not misspelt settings of the launcher', () => {
    const own = { ...distributedSettings, ...commonSettings('distributed'), ...otelLibrarySettings };
    const others = Object.keys(env).filter((variable) => Object.values(own).every((each) => each.env !== variable));
    const launched = forLauncher(Object.fromEntries(others.map((variable) => [variable, 'x'])));
    expect(() => parseSettings(own, launched, ['TOLLGATE_'])).not.toThrow();
  });
});
