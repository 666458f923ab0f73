// Checks that a server is the service that a client meant to dial: every process of an installation has a certificate of the same authority, so a
// certificate for the right host alone could be another service's.
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** The name in the certificate of a single process, which serves all services. */
const singleProcess = 'tollgate';

/** Returns the check of a server's certificate: for its host, and for the service of this name, as in `isService`. */
export function serverIdentityCheck(service: string): (host: string, certificate: PeerCertificate) => Error | undefined {
  return (host, certificate) => {
    const fault = checkServerIdentity(host, certificate);
    if (fault !== undefined || isService(certificate, service)) return fault;
    return new Error(`The server at ${host} has the certificate of "${String(certificate.subject.CN)}", not of the service "${service}".`);
  };
}

/**
 * Reports whether a certificate is that of a service: by its common name, by a DNS name such as ledger.tollgate.svc, or by a SPIFFE ID whose path ends
 * with the name. The certificate of a single process stands for every service.
 */
export function isService({ subject, subjectaltname = '' }: PeerCertificate, service: string): boolean {
  const commonName: unknown = subject?.CN;
  if (commonName === service || commonName === singleProcess) return true;
  // Node quotes a name with special characters, such as a comma, which would otherwise look like several names. No service has such a name.
  return subjectaltname
    .replace(/"(?:[^"\\]|\\.)*"/g, '')
    .split(', ')
    .some(
      (name) =>
        name === `DNS:${service}` ||
        name.startsWith(`DNS:${service}.`) ||
        (name.startsWith('URI:spiffe://') && name.endsWith(`/${service}`)),
    );
}
