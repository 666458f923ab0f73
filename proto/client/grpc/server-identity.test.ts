import { describe, expect, it } from '@jest/globals';
import type { PeerCertificate } from 'node:tls';
import { isService } from './server-identity.js';

const certificate = (commonName: string | undefined, subjectaltname?: string): PeerCertificate =>
  ({ subject: { CN: commonName }, subjectaltname }) as PeerCertificate;

describe('the certificate of a service', () => {
  it.each([
    ['its common name', certificate('ledger', 'DNS:localhost')],
    ['that of the single process', certificate('tollgate')],
    ['a DNS name', certificate(undefined, 'DNS:localhost, DNS:ledger')],
    ['a DNS name in a cluster', certificate('x', 'DNS:ledger.tollgate.svc.cluster.local')],
    ['a SPIFFE ID', certificate(undefined, 'URI:spiffe://example.org/tollgate/ledger')],
  ])('is accepted by %s', (_by, accepted) => expect(isService(accepted, 'ledger')).toBe(true));

  it.each([
    ['another service', certificate('metering', 'DNS:localhost, IP Address:127.0.0.1')],
    ['a longer name', certificate('ledger-copy', 'DNS:ledgers.example.org')],
    ['a name within another', certificate(undefined, 'DNS:evil.ledger, URI:spiffe://example.org/ledger/evil')],
    ['a quoted name', certificate(undefined, 'DNS:"x, DNS:ledger"')],
    ['a name within a quoted one', certificate(undefined, 'DNS:x, URI:"http://x/\\", DNS:ledger, y"')],
    ['a DNS name in a cluster within a quoted one', certificate(undefined, 'DNS:x, URI:"http://x/, DNS:ledger.x"')],
    ['a SPIFFE ID within a quoted one', certificate(undefined, 'DNS:x, URI:"http://x/, URI:spiffe://example.org/ledger, y"')],
    ['no names', certificate(undefined)],
  ])('is refused with %s', (_of, refused) => expect(isService(refused, 'ledger')).toBe(false));
});
