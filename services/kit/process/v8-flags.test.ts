import { execFileSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { v8Flags, v8FlagsOnceStarted } from './v8-flags.js';

// V8 ignores flags that it does not have.
it('sets flags that V8 has', () => {
  const options = execFileSync(process.execPath, ['--v8-options'], { encoding: 'utf8' });
  const known = [...options.matchAll(/^ {2}--([\w-]+) \(/gm)].map(([, name]) => name);
  for (const flag of [...v8Flags, ...v8FlagsOnceStarted]) expect(known).toContain(flag.replace(/^--(no-)?|=.*/g, ''));
});
