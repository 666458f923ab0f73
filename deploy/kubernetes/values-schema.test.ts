import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import type { Setting } from '#kit/config/settings.js';
import { processSettings } from '../testing/process-settings.js';

it('rejects every secret setting in plain text', () => {
  const schema = JSON.parse(readFileSync(new URL('tollgate/values.schema.json', import.meta.url), 'utf8')) as {
    definitions: { config: { propertyNames: { not: { enum: string[] } } } };
  };
  const settings = Object.values(processSettings).flatMap((each) => Object.values<Setting<unknown>>(each));
  const secrets = new Set(settings.filter(({ secret }) => secret === true).map(({ env }) => env));
  expect(schema.definitions.config.propertyNames.not.enum).toEqual([...secrets].toSorted());
});
