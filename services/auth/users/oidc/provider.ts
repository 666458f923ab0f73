// The identity provider: its metadata, the address to which a browser is sent, and what it says of who came back. All that OpenID Connect
// asks to be checked is checked by openid-client; of a fault only its kind is told on, since texts and causes may hold what is secret.
import { fault } from '#client/errors/fault.js';
import * as oidc from 'openid-client';
import { AppError } from '#client/errors/app-error.js';
import type { Clock } from '#kit/clock.js';
import type { Logger } from '#kit/log.js';
import type { IdentityClaims } from '../identity-claims.js';

/** How the provider is set up. */
export interface OidcSettings {
  readonly oidcIssuer: string | undefined;
  readonly oidcClientId: string | undefined;
  readonly oidcClientSecret: string | undefined;
  readonly oidcName: string;
  readonly oidcScopes: string;
}

/** What is kept in the browser between the way there and the way back. */
export interface Challenge {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** A configured provider. */
export interface OidcProvider {
  /** As people know it. */
  readonly name: string;
  readonly issuer: string;
  /** Where to send the browser, and what to keep of it. Raises service_unavailable. */
  begin(redirectUri: string): Promise<{ location: string; challenge: Challenge }>;
  /** Who came back to `redirectUri` with these parameters. Raises sign_in_refused with details.why, service_unavailable and overloaded. */
  finish(redirectUri: string, search: string, challenge: Challenge): Promise<IdentityClaims>;
}

const timeoutS = 10;
/** Metadata of a provider change rarely; its keys are read anew when a signature needs another one. */
const metadataMs = 3_600_000;
/** Each is a request to the provider, which anybody can cause. */
const underWayMax = 20;

/** The provider, or undefined when none is set. Raises failed_precondition for settings that do not go together. */
export function createOidc(settings: OidcSettings, { clock, log }: { clock: Clock; log: Logger }): OidcProvider | undefined {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcName: name, oidcScopes: scope } = settings;
  if (issuer === undefined && clientId === undefined) return undefined;
  if (issuer === undefined || clientId === undefined) {
    throw new AppError(
      'failed_precondition',
      'TOLLGATE_AUTH_OIDC_ISSUER and TOLLGATE_AUTH_OIDC_CLIENT_ID need each other; set both or none.',
    );
  }
  let underWay = 0;
  let found: { configuration: Promise<oidc.Configuration>; atMs: number } | undefined;

  function configuration(): Promise<oidc.Configuration> {
    if (found !== undefined && clock.nowMs() - found.atMs < metadataMs) return found.configuration;
    const discovered = discover(issuer!, clientId!, settings.oidcClientSecret);
    const entry = { configuration: discovered, atMs: clock.nowMs() };
    found = entry;
    discovered.catch(() => {
      if (found === entry) found = undefined;
    });
    return discovered;
  }

  /** Does what asks the provider something, few at a time. */
  async function asking<T>(work: () => Promise<T>): Promise<T> {
    if (underWay >= underWayMax) throw fault('sign_ins_busy', {}, { retryAfterMs: 2000 });
    underWay += 1;
    try {
      return await work();
    } catch (error) {
      if (error instanceof AppError) throw error;
      log.warn({ issuer, fault: faultOf(error) }, 'the identity provider could not be asked, or what it said was not right');
      throw refusal(error);
    } finally {
      underWay -= 1;
    }
  }

  return {
    name,
    issuer,
    begin: (redirectUri) =>
      asking(async () => {
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
      asking(async () => {
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
  // Signatures are checked although TLS would vouch for the token as well. Without TLS only a provider on this machine is asked.
  const execute = [oidc.enableNonRepudiationChecks, ...(url.protocol === 'http:' ? [oidc.allowInsecureRequests] : [])];
  return oidc.discovery(url, clientId, undefined, secret === undefined ? oidc.None() : secretAuth(secret), { execute, timeout: timeoutS });
}

/** By the header, as OAuth has it unless the provider says that it wants the secret in the body. */
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
  const said = tokens.claims()!;
  const { iss, sub } = said;
  // Some tell the address only here; whose it is, is checked by the subject.
  const isShort = said['email'] === undefined && config.serverMetadata().userinfo_endpoint !== undefined;
  const more: Record<string, unknown> = isShort ? await oidc.fetchUserInfo(config, tokens.access_token, sub) : said;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  return {
    issuer: iss,
    subject: sub,
    email: text(more['email']),
    emailVerified: more['email_verified'] === true,
    name: text(more['name']),
  };
}

/** A word for what went wrong, without anything that was sent. */
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
  const isAway = error instanceof TypeError || (error instanceof oidc.ClientError && unreachable.has(error.code ?? ''));
  if (isAway) return fault('provider_unreachable', {}, { retryAfterMs: 5000 });
  return new AppError('sign_in_refused', 'The response of the identity provider could not be verified.', { details: { why: 'provider' } });
}
