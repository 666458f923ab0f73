import { expect, it } from '@jest/globals';
import { parseEnv } from 'node:util';
import { envFile } from './env-file.js';

it('writes paths and addresses as Node reads them', () => {
  const variables = {
    FOLDER: '/home/Ada/C# projects/data',
    OTHER: '/home/Ada\'s "data" #1',
    QUOTED: "'data'",
    URL: 'mysql://tollgate_backup:0a1b@127.0.0.1:7106/',
    TRACE: 'https://jaeger.example/trace/{trace_id}?a=b',
  };
  expect(parseEnv(envFile(variables))).toEqual(variables);
  // Other readers expect no quotes where none are needed.
  expect(envFile({ FOLDER: '/srv/my data' })).toBe('FOLDER=/srv/my data\n');
});
