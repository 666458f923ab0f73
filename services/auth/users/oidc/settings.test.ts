import { describe, expect, it } from '@jest/globals';
import { parseSettings } from '#kit/config/settings.js';
import { assertSignIn, signInCheck, signInSettings } from './settings.js';

describe('the settings of the identity provider', () => {
  it.each(['http://id.example.com', 'http://10.0.0.7'])(
    'reject a provider without TLS, which would receive secrets in plain text: %s',
    (issuer) => {
      expect(() => parseSettings(signInSettings, { TOLLGATE_AUTH_OIDC_ISSUER: issuer })).toThrow('must begin with https://');
    },
  );

  it.each([
    'https://login.microsoftonline.com/common/v2.0',
    'https://login.microsoftonline.com/organizations/v2.0',
    'https://Login.MicrosoftOnline.com:443/Consumers',
    'https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0',
    'https://login.microsoftonline.us/common/v2.0',
    'https://login.partner.microsoftonline.cn/common/v2.0',
    'https://sts.windows.net/common/',
  ])('do not trust the addresses of all tenants of Microsoft Entra ID, who choose them: %s', (oidcIssuer) => {
    const settings = { oidcIssuer, oidcClientId: 'tollgate', oidcTrustEmail: true };
    expect(() => assertSignIn(settings)).toThrow('TOLLGATE_AUTH_OIDC_TRUST_EMAIL');
    assertSignIn({ ...settings, oidcIssuer: 'https://login.microsoftonline.com/8eaef023-2b34-4da1-9baa-8bc8c9d6a490/v2.0' });
    assertSignIn({ ...settings, oidcTrustEmail: false });
  });

  it('are rejected if they have no effect, because no provider is set', () => {
    const env = { TOLLGATE_AUTH_OIDC_NAME: 'Acme ID', TOLLGATE_AUTH_OIDC_SIGN_UP: 'true' };
    expect(signInCheck({ ...env, TOLLGATE_AUTH_SIGN_UP: 'true' })).toEqual([
      'TOLLGATE_AUTH_OIDC_NAME has no effect without an identity provider; set TOLLGATE_AUTH_OIDC_ISSUER and TOLLGATE_AUTH_OIDC_CLIENT_ID, or remove it',
      expect.stringContaining('TOLLGATE_AUTH_OIDC_SIGN_UP has no effect'),
    ]);
    const provider = { TOLLGATE_AUTH_OIDC_ISSUER: 'https://id.example.com', TOLLGATE_AUTH_OIDC_CLIENT_ID: 'tollgate' };
    expect(signInCheck({ ...env, ...provider })).toEqual([]);
    expect(signInCheck({})).toEqual([]);
  });

  it.each(['id.example.com', 'https://id.example.com/?a=b', 'https://me@id.example.com'])('reject the malformed issuer %s', (issuer) => {
    expect(() => parseSettings(signInSettings, { TOLLGATE_AUTH_OIDC_ISSUER: issuer })).toThrow(
      'TOLLGATE_AUTH_OIDC_ISSUER must be an address',
    );
  });
});
