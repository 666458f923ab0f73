import { describe, expect, it } from '@jest/globals';
import { parseSettings } from '#kit/config/settings.js';
import { signInSettings } from './settings.js';

describe('the settings of the identity provider', () => {
  it.each(['http://id.example.com', 'http://10.0.0.7'])(
    'reject a provider without TLS, which would receive secrets in plain text: %s',
    (issuer) => {
      expect(() => parseSettings(signInSettings, { TOLLGATE_AUTH_OIDC_ISSUER: issuer })).toThrow('must begin with https://');
    },
  );

  it.each(['id.example.com', 'https://id.example.com/?a=b', 'https://me@id.example.com'])('reject the malformed issuer %s', (issuer) => {
    expect(() => parseSettings(signInSettings, { TOLLGATE_AUTH_OIDC_ISSUER: issuer })).toThrow(
      'TOLLGATE_AUTH_OIDC_ISSUER must be an address',
    );
  });
});
