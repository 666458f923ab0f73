import { describe, expect, it } from '@jest/globals';
import type { PeerCertificate } from 'node:tls';
import { identityOf } from './grpc-identity.js';

const identify = (commonName: unknown, subjectaltname?: string): string | undefined =>
  identityOf({ subject: { CN: commonName }, subjectaltname, fingerprint256: 'AB:CD' } as unknown as PeerCertificate)?.caller;

describe('the identity in a certificate', () => {
  it('is its one common name', () => {
    expect(
      identityOf({
        subject: { CN: 'billing-team' },
        subjectaltname: 'DNS:localhost',
        fingerprint256: 'AB:CD',
      } as unknown as PeerCertificate),
    ).toEqual({
      caller: 'billing-team',
      certificateSha256: 'abcd',
    });
  });

  it('is its SPIFFE ID if it has one, whatever its common name', () => {
    expect(identify('operator', 'DNS:a.example, URI:spiffe://corp.example/ns/billing/sa/report')).toBe(
      'spiffe://corp.example/ns/billing/sa/report',
    );
    expect(identify(undefined, 'URI:spiffe://corp.example/report')).toBe('spiffe://corp.example/report');
  });

  it.each([
    ['several common names', ['operator', 'team'], undefined],
    ['no name', undefined, undefined],
    ['several URIs', 'operator', 'URI:spiffe://corp/a, URI:spiffe://corp/b'],
    ['a URI of another scheme', 'operator', 'URI:https://corp.example/a'],
    ['a SPIFFE id that is malformed', 'operator', 'URI:spiffe://corp/a b'],
    ['a SPIFFE id without a path', 'operator', 'URI:spiffe://corp'],
    ['a URI inside quotes that pretends to be several names', 'operator', 'URI:"https://x, URI:spiffe://corp/a"'],
    ['a common name that looks like a SPIFFE id', 'spiffe://corp/a', undefined],
  ])('is none with %s', (_, commonName, names) => {
    expect(identify(commonName, names)).toBeUndefined();
  });

  it('is not taken from a name of another kind', () => {
    expect(identify('team', 'DNS:"a, URI:spiffe://corp/a"')).toBe('team');
  });
});
