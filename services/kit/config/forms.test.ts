import { describe, expect, it } from '@jest/globals';
import { headerSecret, hostAndPort, isEmailAddress, listenAddress } from './forms.js';
import { parseSettings } from './settings.js';

describe('an address to listen on', () => {
  it.each(['127.0.0.1:80', '0.0.0.0:7103', 'localhost:0', '[::]:9464', '[fe80::1%eth0]:65535', 'tollgate-auth.svc:7101'])('%s', (value) => {
    expect([hostAndPort(value), listenAddress(value)]).toEqual([value, value]);
  });

  it('is a path only where a Unix socket is possible', () => {
    expect(listenAddress('unix:/run/tollgate.sock')).toBe('unix:/run/tollgate.sock');
    expect(() => hostAndPort('unix:/run/tollgate.sock')).toThrow('must be host:port');
  });

  it.each([
    'x',
    '80',
    ':80',
    '::1:80',
    '127.0.0.1',
    '127.0.0.1:',
    '127.0.0.1:65536',
    '127.0.0.1:http',
    'http://localhost:80',
    'a b:80',
    'unix:',
  ])('cannot be %s', (value) => {
    expect(() => hostAndPort(value)).toThrow('must be host:port');
    expect(() => listenAddress(value)).toThrow('or unix:/path');
  });
});

describe('a secret in an HTTP header', () => {
  const parsed = (value: string) => parseSettings({ key: headerSecret('VENDOR_API_KEY', 'a key') }, { VENDOR_API_KEY: value }).key;

  it.each(['sk-x\n', 'sk-x\r\n', ' \tsk-x '])('%j is read without the white space around it', (value) =>
    expect(parsed(value)).toBe('sk-x'),
  );
  it.each(['\n', ' '])('%j is none', (value) => expect(parsed(value)).toBeUndefined());
  it.each(['sk-x\nsk-y', 'sk x', 'sk-\0', '“sk-x”', 'sk-\u00e9'])('cannot be %j, and is not shown', (value) =>
    expect(() => parsed(value)).toThrow(/VENDOR_API_KEY must be printable ASCII characters without spaces or line breaks[^(]*$/),
  );
});

describe('an email address', () => {
  it.each(['operator@localhost', 'ada+billing@example.com', 'ü@exämple.com'])('can be %s', (text) =>
    expect(isEmailAddress(text)).toBe(true),
  );
  it.each(['', 'foo', '@example.com', 'ada@', 'a@b@c', 'ada @example.com', '<ada@example.com>', `${'x'.repeat(250)}@example.com`])(
    'cannot be %s',
    (text) => expect(isEmailAddress(text)).toBe(false),
  );
});
