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
  /** Returns the address to which the browser is sent, and the challenge to keep. Raises service_unavailable. */
  begin(redirectUri: string): Promise<{ location: string; challenge: Challenge }>;
  /** Returns the claims about the user who returned to `redirectUri` with these parameters. Raises sign_in_refused with details.why, service_unavailable and overloaded. */
  finish(redirectUri: string, search: string, challenge: Challenge): Promise<IdentityClaims>;
}

const timeoutS = 10;
/** The metadata of a provider rarely changes; its keys are read again when a signature needs an unknown one. */
const metadataMs = 3_600_000;
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
    begin: (redirectUri) =>
      limited(async () => {
        const challenge = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier: oidc.randomPKCECodeVerifier() };
        const url = oidc.buildAuthorizationUrl(await configuration(), {
          redirect_uri: redirectUri,
          scope,
          state: challenge.state,
          nonce: challenge.nonce,
          code_challenge: await oidc.calculatePKCECodeChallenge(challenge.verifier),
          code_challenge_method: 'S256',
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
        return claimsOf(config, tokens);
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

async function claimsOf(
  config: oidc.Configuration,
  tokens: Awaited<ReturnType<typeof oidc.authorizationCodeGrant>>,
): Promise<IdentityClaims> {
  const claims = tokens.claims()!;
  const { iss, sub } = claims;
  // Some providers return the address only here; openid-client checks that the subject is the same.
  const isShort = claims['email'] === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
  const more: Record<string, unknown> = isShort ? await oidc.fetchUserInfo(config, tokens.access_token, sub) : claims;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    issuer: iss,
    subject: sub,
    email: text(more['email']),
    emailVerified: more['email_verified'] === true,
    name: text(more['name']),
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
