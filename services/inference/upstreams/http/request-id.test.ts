import { describe, expect, it } from '@jest/globals';
import { requestIdOf } from './request-id.js';

describe("the vendor's id of a request", () => {
  it.each([
    [{ 'x-request-id': 'req_011CS8example' }, 'req_011CS8example'],
    [{ 'request-id': '0af76519-16cd-43dd' }, '0af76519-16cd-43dd'],
    [{ 'x-request-id': 'first', 'request-id': 'second' }, 'first'],
    [{}, ''],
    [{ 'x-request-id': 'Your key is out of credit' }, ''],
    [{ 'x-request-id': 'sk-0123456789abcdef' }, ''],
    [{ 'x-request-id': 'x'.repeat(129) }, ''],
  ])('in %j is %j', (headers, id) => {
    expect(requestIdOf(headers)).toBe(id);
  });
});
