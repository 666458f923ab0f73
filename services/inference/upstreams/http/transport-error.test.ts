import { describe, expect, it } from '@jest/globals';
import { AddressRefused } from '#kit/net/address-guard.js';
import { transportError } from './transport-error.js';

const withCode = (code: string) => Object.assign(new Error(`${code} 10.1.2.3:443`), { code });

describe('a failure below HTTP', () => {
  it.each([
    [withCode('UND_ERR_CONNECT_TIMEOUT'), 'upstream_timeout'],
    [withCode('ECONNREFUSED'), 'upstream_unavailable'],
    [withCode('ENOTFOUND'), 'upstream_unavailable'],
    [withCode('CERT_HAS_EXPIRED'), 'upstream_unavailable'],
    [withCode('ERR_TLS_CERT_ALTNAME_INVALID'), 'upstream_unavailable'],
    [new AggregateError([withCode('ECONNREFUSED'), withCode('ENETUNREACH')]), 'upstream_unavailable'],
    [new AddressRefused('10.1.2.3 is private'), 'upstream_unavailable'],
    [withCode('UND_ERR_HEADERS_OVERFLOW'), 'upstream_failed'],
    [withCode('ECONNRESET'), 'upstream_failed'],
    [withCode('UND_ERR_SOCKET'), 'upstream_failed'],
    [new Error('anything'), 'upstream_failed'],
  ])('%s is %s, and names no address', (error, reason) => {
    const mapped = transportError(error);
    expect(mapped.reason).toBe(reason);
    expect(mapped.message).not.toContain('10.1.2.3');
    expect(mapped.cause).toBe(error);
  });
});
