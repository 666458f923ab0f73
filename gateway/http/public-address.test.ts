import { describe, expect, it } from '@jest/globals';
import { parseSettings } from '#kit/config/settings.js';
import { gatewaySettings } from '../config.js';
import { publicAddress } from './public-address.js';

const from = { protocol: 'http', host: '10.0.0.7:8080' };
const settings = (env: Record<string, string>) => parseSettings(gatewaySettings, env);

describe('the public address', () => {
  it('is that of the request unless one is set', () => {
    expect(publicAddress(from, settings({}))).toBe('http://10.0.0.7:8080');
    expect(publicAddress(from, settings({ TOLLGATE_GATEWAY_PUBLIC_URL: 'https://ai.example.com/tollgate/' }))).toBe(
      'https://ai.example.com/tollgate',
    );
  });

  it.each(['ai.example.com', 'ftp://ai.example.com', 'https://ai.example.com/?a=b', 'https://me@ai.example.com'])(
    'cannot be %s',
    (address) => {
      expect(() => settings({ TOLLGATE_GATEWAY_PUBLIC_URL: address })).toThrow('TOLLGATE_GATEWAY_PUBLIC_URL must be an address');
    },
  );
});
