// Who may sign up, and the identity provider with which users sign in; off unless they are set.
import { optionalForm } from '#kit/config/forms.js';
import { assertUnchanged, checkTogether, ConfigError, flag, optionalText, type Settings, text, type Values } from '#kit/config/settings.js';

/** The settings of sign-up and of the identity provider. */
export const signInSettings = {
  signUp: flag('TOLLGATE_AUTH_SIGN_UP', 'anyone who can open the console may sign up, with an account of their own', { default: false }),
  oidcIssuer: optionalForm(
    'TOLLGATE_AUTH_OIDC_ISSUER',
    'address of an OpenID Connect provider with which users sign in to the console',
    issuerOf,
  ),
  oidcClientId: optionalText(
    'TOLLGATE_AUTH_OIDC_CLIENT_ID',
    'client id of Tollgate at that provider; its redirect URI is <public address>/console/api/oidc/callback',
  ),
  oidcClientSecret: optionalText('TOLLGATE_AUTH_OIDC_CLIENT_SECRET', 'the secret of that client; none for a public client', {
    secret: true,
  }),
  oidcName: text('TOLLGATE_AUTH_OIDC_NAME', 'name of that provider, as shown to users', { default: 'single sign-on' }),
  oidcScopes: text('TOLLGATE_AUTH_OIDC_SCOPES', 'scopes that are requested from that provider', { default: 'openid email profile' }),
  oidcSignUp: flag(
    'TOLLGATE_AUTH_OIDC_SIGN_UP',
    'every user of that provider with a verified email address may sign up, with an account of their own',
    { default: false },
  ),
  oidcTrustEmail: flag(
    'TOLLGATE_AUTH_OIDC_TRUST_EMAIL',
    'email addresses count as verified if that provider does not say whether they are; set it only if users cannot choose their address there',
    { default: false },
  ),
} satisfies Settings;

const { signUp: _signUp, ...providerSettings } = signInSettings;

function issuerOf(value: string): string {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  if (url === undefined || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new Error('must be an address such as https://id.example.com');
  const { protocol, hostname } = url;
  if (protocol !== 'https:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname))
    throw new Error('must begin with https://, unless it is on this machine');
  // Unchanged, since the issuer of a provider may end with a slash.
  return value;
}

const entraHosts = ['login.microsoftonline.com', 'login.microsoftonline.us', 'login.partner.microsoftonline.cn', 'sts.windows.net'];
/** The last one is the tenant of personal Microsoft accounts. */
const openTenants = ['common', 'organizations', 'consumers', '9188040d-6c67-4c5b-b112-36a304b66dad'];

/** Whether users of every tenant of Microsoft Entra ID, or with a personal account, sign in at this issuer. */
function isOfEveryTenant(issuer: string): boolean {
  const { hostname, pathname } = new URL(issuer);
  return entraHosts.includes(hostname) && openTenants.includes(pathname.split('/')[1]!.toLowerCase());
}

/** Raises ConfigError when the identity provider is only partly configured, or when its users could choose the addresses that are trusted. */
export function assertSignIn({
  oidcIssuer,
  oidcClientId,
  oidcTrustEmail,
}: Pick<Values<typeof signInSettings>, 'oidcIssuer' | 'oidcClientId' | 'oidcTrustEmail'>): void {
  if ((oidcIssuer === undefined) !== (oidcClientId === undefined))
    throw new ConfigError(['TOLLGATE_AUTH_OIDC_ISSUER and TOLLGATE_AUTH_OIDC_CLIENT_ID must be set together']);
  if (oidcTrustEmail && oidcIssuer !== undefined && isOfEveryTenant(oidcIssuer))
    throw new ConfigError([
      'TOLLGATE_AUTH_OIDC_TRUST_EMAIL must not be set for an issuer of all tenants, which choose the addresses of their users; set TOLLGATE_AUTH_OIDC_ISSUER to the issuer of one tenant',
    ]);
}

/** Checks that the settings fit together. */
export const signInCheck = checkTogether(signInSettings, (values) => {
  assertSignIn(values);
  if (values.oidcIssuer === undefined)
    assertUnchanged(providerSettings, values, 'an identity provider', 'set TOLLGATE_AUTH_OIDC_ISSUER and TOLLGATE_AUTH_OIDC_CLIENT_ID');
});
