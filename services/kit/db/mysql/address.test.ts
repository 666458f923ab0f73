import { describe, expect, it } from '@jest/globals';
import { AppError } from '#client/errors/app-error.js';
import { hostsMax, parseMysqlUrl } from './address.js';

describe('the address of a MySQL database', () => {
  it('names one host', () => {
    expect(parseMysqlUrl('mysql://me:p%40ss@db.internal:3307/tollgate')).toEqual({
      hosts: [{ host: 'db.internal', port: 3307 }],
      socketPath: undefined,
      user: 'me',
      password: 'p@ss',
      database: 'tollgate',
      tls: undefined,
    });
  });

  it('names several hosts in order, with the default port and IPv6', () => {
    expect(parseMysqlUrl('mysql://me:secret@a,b:4000,[::1]:5000/tollgate').hosts).toEqual([
      { host: 'a', port: 3306 },
      { host: 'b', port: 4000 },
      { host: '::1', port: 5000 },
    ]);
  });

  it('encrypts connections and verifies the server, including its host name by default', () => {
    const tlsOf = (query: string) => parseMysqlUrl(`mysql://me:x@a/s?${query}`).tls;
    expect(tlsOf('ssl-ca=/ca.pem')).toEqual({ verifiesHost: true, ca: '/ca.pem', client: undefined });
    expect(tlsOf('ssl-mode=VERIFY_IDENTITY')).toEqual({ verifiesHost: true, ca: undefined, client: undefined });
    expect(tlsOf('ssl-mode=VERIFY_CA&ssl-ca=/ca.pem&ssl-cert=/c.pem&ssl-key=/k.pem')).toEqual({
      verifiesHost: false,
      ca: '/ca.pem',
      client: { cert: '/c.pem', key: '/k.pem' },
    });
    expect(tlsOf('ssl-mode=DISABLED')).toBeUndefined();
  });

  it('names a socket, or no schema', () => {
    expect(parseMysqlUrl('mysql://me@localhost/x?socketPath=/run/s').socketPath).toBe('/run/s');
    expect(parseMysqlUrl('mysql://me:x@localhost/').database).toBe('');
  });

  it.each([
    'mysql://me:secret@a,,b/x',
    'mysql://me:secret@a:notaport/x',
    'mysql:///x',
    'postgres://me:secret@a/x',
    'mysql://me:secret@a,b/x?socketPath=/run/s',
    'mysql://me:secret@a/x?ssl-mode=REQUIRED',
    'mysql://me:secret@a/x?ssl-mode=DISABLED&ssl-ca=/ca.pem',
    'mysql://me:secret@a/x?ssl-cert=/cert.pem',
    'mysql://me:secret@10.0.0.1/x?ssl-ca=/ca.pem',
    'mysql://me:secret@a,[::1]/x?ssl-mode=VERIFY_IDENTITY',
    'mysql://me:secret@a/x?socketPath=/run/s&ssl-ca=/ca.pem',
    'mysql://me:12?secret@a/x',
    'mysql://me:12?secret&more@a/x',
    'mysql://me:12?%73ecret=@a/x',
    'mysql://me:12/secret@a/x',
    'mysql://me:12#secret@a/x',
    'mysql://me:50%secret@a/x',
    `mysql://me:secret@${Array.from({ length: hostsMax + 1 }, (_, index) => `h${index}`).join(',')}/x`,
  ])('is rejected, without showing its password, as %s', (url) => {
    let message = 'accepted';
    try {
      parseMysqlUrl(url);
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).toMatch(/MySQL address/);
    expect(message).not.toContain('secret');
  });

  it('is rejected with unsupported parameters, which the error names', () => {
    const parse = (): unknown => parseMysqlUrl('mysql://me:secret@a/x?socketPath=/run/s&ssl=true&charset=latin1');
    expect(parse).toThrow(AppError);
    expect(parse).toThrow(
      'A MySQL address cannot have the parameter ssl, charset: it may have socketPath, ssl-mode, ssl-ca, ssl-cert, ssl-key.',
    );
  });
});
