// The identity provider: its metadata, the address to which a browser is sent, and the claims about the user who returns. openid-client makes
// all checks that OpenID Connect requires. Only the kind of an error is logged, since its text and causes may contain secrets.
import { fault } from '#client/errors/fault.js';
import * as oidc from 'openid-client';
import { AppError } from '#client/errors/app-error.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { IdentityClaims } from './identity-claims.js';
import { assertSignIn } from './settings.js';

/** Holds the settings of the provider. */
export interface OidcSettings {
  readonly oidcIssuer: string | undefined;
  readonly oidcClientId: string | undefined;
  readonly oidcClientSecret: string | undefined;
  readonly oidcName: string;
  readonly oidcScopes: string;
  readonly oidcTrustEmail: boolean;
}

/** Holds what the browser keeps between the redirect to the provider and the callback. */
interface Challenge {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Signs users in at a configured provider. */
export interface OidcProvider {
  /** The name by which users know it. */
  readonly name: string;
  readonly issuer: string;
  /**
   * Returns the address to which the browser is sent, and the challenge to keep. `reauthenticate`: the provider must authenticate the user even if the
   * browser is signed in there; the browser could remove this from the address, so the time in the claims must be checked. Raises service_unavailable.
   */
  begin(redirectUri: string, reauthenticate: boolean): Promise<{ location: string; challenge: Challenge }>;
  /** Returns the claims about the user who returned to `redirectUri` with these parameters. Raises sign_in_refused with details.why, service_unavailable and overloaded. */
  finish(redirectUri: string, search: string, challenge: Challenge): Promise<IdentityClaims>;
}

const timeoutS = 10;
/** The metadata of a provider rarely changes. openid-client reads its keys again when a signature needs an unknown one, at most once per minute. */
const metadataMs = 3_600_000;
/**
 * A provider that receives a maximum age must say when it authenticated the user (OpenID Connect Core 1.0, section 2). A year, so that an ordinary
 * sign-in does not end the user's session at the provider.
 */
const maxAgeS = 31_536_000;
/** Any client can cause such a request to the provider, so that their number is limited. */
const underWayMax = 20;

/** Returns the provider, or undefined when none is set. Raises ConfigError for inconsistent settings. */
export function createOidc(settings: OidcSettings, { clock, log }: { clock: Clock; log: Logger }): OidcProvider | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcName: name, oidcScopes: scope } = settings;
  assertSignIn(settings);
  if (issuer === undefined || clientId === undefined) return undefined;
  let underWay = 0;
  let found: { configuration: Promise<oidc.Configuration>; atMs: number } | undefined;

  function configuration(): Promise<oidc.Configuration> {
    if (found !== undefined && clock.monotonicMs() - found.atMs < metadataMs) return found.configuration;
    const discovered = discover(issuer!, clientId!, settings.oidcClientSecret);
    const entry = { configuration: discovered, atMs: clock.monotonicMs() };
    found = entry;
    discovered.catch(() => {
      if (found === entry) found = undefined;
    });
    return discovered;
  }

  /** Runs a request to the provider, at most `underWayMax` at a time. */
  async function limited<T>(work: () => Promise<T>): Promise<T> {
    if (underWay >= underWayMax) throw fault('sign_ins_busy', {}, { retryAfterMs: 2000 });
    underWay += 1;
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError) throw error;
      log.warn({ issuer, fault: faultOf(error) }, 'the request to the identity provider failed, or its response could not be verified');
      throw refusal(error);
    } finally {
      underWay -= 1;
    }
  }

  return {
    name,
    issuer,
    begin: (redirectUri, reauthenticate) =>
      limited(async () => {
        const challenge = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
        const url = oidc.buildAuthorizationUrl(await configuration(), {
          redirect_uri: redirectUri,
          scope,
          state: challenge.state,
          nonce: challenge.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(challenge.verifier),
          code_challenge_method: 'S256',
          // Some providers support only one of the two.
          ...(reauthenticate ? { prompt: 'login', max_age: '0' } : { max_age: `${maxAgeS}` }),
        });
        return { location: url.href, challenge };
      }),
    finish: (redirectUri, search, { state, nonce, verifier }) =>
      limited(async () => {
        const config = await configuration();
        const tokens = await oidc.authorizationCodeGrant(config, new URL(`${redirectUri}${search}`), {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = await claimsOf(config, tokens, (error) =>
          log.warn({ issuer, fault: faultOf(error) }, 'the userinfo request to the identity provider failed; the ID token is used alone'),
        );
        if (claims.isVerified === undefined && claims.email !== '' && !settings.oidcTrustEmail)
          log.info(
            { issuer },
            'the identity provider does not say whether email addresses are verified; see TOLLGATE_AUTH_OIDC_TRUST_EMAIL',
          );
        const { isVerified = settings.oidcTrustEmail, ...rest } = claims;
        return { ...rest, emailVerified: isVerified };
      }),
  };
}

async function discover(issuer: string, clientId: string, secret: string | undefined): Promise<oidc.Configuration> {
  const url = new URL(issuer);
  // Signatures are verified although TLS already authenticates the token's source. Without TLS only a provider on this machine is accepted.
  const execute = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])];
  return oidc.discovery(url, clientId, undefined, secret === undefined ? oidc.None() : secretAuth(secret), { execute, timeout: timeoutS });
}

/** Sends the secret in the header, the default of OAuth, unless the provider's metadata accept it only in the body. */
function secretAuth(secret: string): oidc.ClientAuth {
  const [basic, post] = [oidc.ClientSecretBasic(secret), oidc.ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const offered = server.token_endpoint_auth_methods_supported;
    const isBasic = offered === undefined || offered.includes('client_secret_basic') || !offered.includes('client_secret_post');
    return (isBasic ? basic : post)(server, client, body, headers);
  };
}

/**
 * Returns the claims; `isVerified` is undefined if the provider does not say whether the address is verified. If the ID token has the address and only the
 * userinfo request fails, `onFailure` is called, and sign-ins still work.
 */
async function claimsOf(
  config: oidc.Configuration,
  tokens: Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>,
  onFailure: (error: unknown) => void,
): Promise<Omit<IdentityClaims, 'emailVerified'> & { readonly isVerified: boolean | undefined }> {
  const { iss, sub, auth_time: authTime, ...inToken } = tokens.claims()!;
  // Some providers return the address, or whether it is verified, only here; openid-client checks that the subject is the same.
  const isShort = inToken['email'] === undefined || inToken['email_verified'] === undefined;
  const hasMore = isShort && config.serverMetadata().userinfo_endpoint !== undefined;
  const more = async (): Promise<object> => {
    try {
      return await oidc.fetchUserInfo(config, tokens.access_token, sub);
    } catch (error) {
      if (inToken['email'] === undefined) throw error;
      onFailure(error);
      return {};
    }
  };
  const claims: Readonly<Record<string, unknown>> = { ...inToken, ...(hasMore ? await more() : {}) };
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  // Amazon Cognito and Apple also send the boolean as text.
  const verified = claims['email_verified'];
  return {
    issuer: iss,
    subject: sub,
    email: text(claims['email']),
    isVerified: verified === undefined ? undefined : verified === true || verified === 'true',
    name: text(claims['name']),
    authenticatedAtMs: authTime === undefined ? undefined : authTime * 1000,
  };
}

/** Returns the kind of an error, without anything that was sent or received. */
function faultOf(error: unknown): string {
  const { name, code, error: word } = error as { name?: unknown; code?: unknown; error?: unknown };
  return [name, code, word].filter((part) => typeof part === 'string').join(' ');
}

const unreachable = new Set(['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_PARSE_ERROR']);

function refusal(error: unknown): AppError {
  if (error instanceof oidc.AuthorizationResponseError) {
    return new AppError('sign_in_refused', 'The identity provider rejected the sign-in.', {
      details: { why: error.error === 'access_denied' ? 'declined' : 'provider' },
    });
  }
  const isUnavailable = error instanceof TypeError || (error instanceof oidc.ClientError && unreachable.has(error.code ?? ''));
  if (isUnavailable) return fault('provider_unreachable', {}, { retryAfterMs: 5000 });
  return new AppError('sign_in_refused', 'The response of the identity provider could not be verified.', { details: { why: 'provider' } });
}
