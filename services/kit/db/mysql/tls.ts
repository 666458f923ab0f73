// The TLS options of connections to MySQL.
import { readFileSync } from 'node:fs';
import type { MysqlTls } from './address.js';

/** Returns the options for the driver. Reads the files each time, so that new connections use renewed certificates. Raises a system error if one cannot be read. */
export function tlsOptions(tls: MysqlTls | undefined): { readonly ssl?: object } {
  if (tls === undefined) return {};
  const { verifiesHost, ca, client } = tls;
  return {
    ssl: {
      rejectUnauthorized: true,
      verifyIdentity: verifiesHost,
      minVersion: 'TLSv1.2',
      ...(ca === undefined ? {} : { ca: readFileSync(ca) }),
      ...(client === undefined ? {} : { cert: readFileSync(client.cert), key: readFileSync(client.key) }),
    },
  };
}
