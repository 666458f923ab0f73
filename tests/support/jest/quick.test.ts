import { expect, it } from '@jest/globals';
import { slowUnitTests } from './durations.js';
import { slowExceptBeside } from './quick.js';

const [slow] = Object.keys(slowUnitTests) as [string];

it('leaves out the slow tests, unless something in their folder has changed', () => {
  const pattern = `<rootDir>/${slow.replaceAll('.', '\\.')}$`;
  expect(slowExceptBeside(['README.md'])).toContain(pattern);
  expect(slowExceptBeside(['README.md'])).toHaveLength(Object.keys(slowUnitTests).length);
  expect(slowExceptBeside([slow.replace(/[^/]+$/, 'new.ts')])).not.toContain(pattern);
});
