import { describe, expect, it } from '@jest/globals';
import { Role } from '#proto/auth/v1/users.js';
import { roles } from '../schemas/words.js';
import { words } from './words.js';

describe('the words of the console’s API', () => {
  it.each(Object.entries({ ...words, role: { generated: Role, prefix: 'ROLE_', all: roles } }))(
    'are those of the contract: %s',
    (_name, { generated, prefix, all }) => {
      const names = Object.keys(generated).filter((name) => name.startsWith(prefix) && (generated as Record<string, unknown>)[name] !== 0);
      expect([...all].toSorted()).toEqual(names.map((name) => name.slice(prefix.length).toLowerCase()).toSorted());
    },
  );
});
