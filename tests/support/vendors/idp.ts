// An OpenID Connect provider on loopback, as strict as a real one: it checks the client, the redirect URI, the code (once) and the
// proof key, and signs its tokens. It can be configured to send wrong data.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { close, listen } from '#kit/testing/local-server.js';

/** The user who is signed in at the provider. */
export interface IdpUser {
  readonly sub: string;
  readonly email?: string;
  readonly email_verified?: boolean | 'true';
  readonly name?: string;
}

/** The kinds of wrong data. */
export type IdpFault =
  | 'state'
  | 'nonce'
  | 'audience'
  | 'issuer'
  | 'expired'
  | 'signature'
  | 'unsigned'
  | 'declined'
  | 'no token'
  | 'no auth_time'
  | 'no reauthentication'
  | 'other subject at userinfo'
  | 'no userinfo';

/** A running provider. */
export interface Idp {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The user who is redirected back next. */
  person: IdpUser;
  fault: IdpFault | undefined;
  /** Whether user claims are returned by the userinfo endpoint only. */
  tellsByUserinfo: boolean;
  /** How long ago the user signed in there, in seconds. */
  sessionAgeS: number;
  /** The registered redirect URIes. */
  readonly redirectUris: Set<string>;
  /** The requests that its token endpoint received. */
  readonly tokenRequests: URLSearchParams[];
  stop(): Promise<void>;
}

interface Grant {
  readonly query: URLSearchParams;
  readonly person: IdpUser;
  readonly authTimeS: number;
}

/** Starts a provider. */
export async function startIdp(): Promise<Idp> {
  const [signing, other] = [await generateKeyPair('RS256'), await generateKeyPair('RS256')];
  const jwk = { ...(await exportJWK(signing.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
  const grants = new Map<string, Grant>();
  const tokens = new Map<string, IdpUser>();
  let issuer = '';

  const idp = {
    clientId: 'tollgate',
    clientSecret: 'client secret: 50% & more',
    person: { sub: 'nobody' } as IdpUser,
    fault: undefined as IdpFault | undefined,
    tellsByUserinfo: false,
    sessionAgeS: 0,
    redirectUris: new Set<string>(),
    tokenRequests: [] as URLSearchParams[],
  };

  const metadata = () => ({
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    userinfo_endpoint: `${issuer}/userinfo`,
    jwks_uri: `${issuer}/jwks`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['RS256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic'],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
  });

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri') ?? '';
    // Never redirects to an address that is not registered (RFC 6749, section 4.1.2.1).
    if (query.get('client_id') !== idp.clientId || !idp.redirectUris.has(redirectUri))
      return answer(response, 400, { error: 'invalid_request' });
    const back = new URL(redirectUri);
    const isRight =
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      query.get('scope')?.split(' ').includes('openid') === true;
    const error = isRight ? (idp.fault === 'declined' ? 'access_denied' : undefined) : 'invalid_request';
    const code = randomUUID();
    const isAsked = query.get('prompt') === 'login' && query.get('max_age') === '0' && idp.fault !== 'no reauthentication';
    const authTimeS = Math.floor(Date.now() / 1000) - (isAsked ? 0 : idp.sessionAgeS);
    if (error === undefined) grants.set(code, { query, person: idp.person, authTimeS });
    for (const [name, value] of Object.entries(error === undefined ? { code } : { error })) back.searchParams.set(name, value);
    back.searchParams.set('state', idp.fault === 'state' ? 'of another browser' : (query.get('state') ?? ''));
    back.searchParams.set('iss', issuer);
    response.writeHead(303, { location: back.href }).end();
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams(await text(request));
    idp.tokenRequests.push(form);
    const expected = `Basic ${Buffer.from(`${encodeURIComponent(idp.clientId)}:${new URLSearchParams({ x: idp.clientSecret }).toString().slice(2)}`).toString('base64')}`;
    if (request.headers.authorization !== expected) return answer(response, 401, { error: 'invalid_client' });
    const grant = grants.get(form.get('code') ?? '');
    grants.delete(form.get('code') ?? '');
    const proof = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const isRight =
      form.get('grant_type') === 'authorization_code' &&
      grant?.query.get('redirect_uri') === form.get('redirect_uri') &&
      grant?.query.get('code_challenge') === proof;
    if (grant === undefined || !isRight) return answer(response, 400, { error: 'invalid_grant' });
    const accessToken = randomUUID();
    tokens.set(accessToken, grant.person);
    answer(response, 200, {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: 300,
      ...(idp.fault === 'no token' ? {} : { id_token: await idToken(grant) }),
    });
  }

  async function idToken({ query, person, authTimeS }: Grant): Promise<string> {
    const nowS = Math.floor(Date.now() / 1000) - (idp.fault === 'expired' ? 3600 : 0);
    const { sub, ...rest } = person;
    const nonce = idp.fault === 'nonce' ? 'of another browser' : (query.get('nonce') ?? '');
    // Required only if a maximum age is requested (OpenID Connect Core 1.0, section 2).
    const hasTime = query.has('max_age') && idp.fault !== 'no auth_time';
    const jwt = new SignJWT({ nonce, ...(hasTime ? { auth_time: authTimeS } : {}), ...(idp.tellsByUserinfo ? {} : rest) })
      .setProtectedHeader({ alg: 'RS256', kid: 'one' })
      .setIssuer(idp.fault === 'issuer' ? 'https://evil.example' : issuer)
      .setAudience(idp.fault === 'audience' ? 'another client' : idp.clientId)
      .setSubject(sub)
      .setIssuedAt(nowS)
      .setExpirationTime(nowS + 300);
    const signed = await jwt.sign((idp.fault === 'signature' ? other : signing).privateKey);
    if (idp.fault !== 'unsigned') return signed;
    return `${Buffer.from(JSON.stringify({ alg: 'none' })).toString('base64url')}.${signed.split('.')[1]}.`;
  }

  function userinfo(request: IncomingMessage, response: ServerResponse): void {
    const person = tokens.get((request.headers.authorization ?? '').replace(/^Bearer /, ''));
    if (person === undefined) return answer(response, 401, { error: 'invalid_token' });
    if (idp.fault === 'no userinfo') return answer(response, 500, { error: 'server_error' });
    answer(response, 200, idp.fault === 'other subject at userinfo' ? { ...person, sub: 'somebody else' } : person);
  }

  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', issuer);
    if (pathname === '/.well-known/openid-configuration') return answer(response, 200, metadata());
    if (pathname === '/jwks') return answer(response, 200, { keys: [jwk] });
    if (pathname === '/authorize') return authorize(searchParams, response);
    if (pathname === '/token' && request.method === 'POST') return void token(request, response);
    if (pathname === '/userinfo') return userinfo(request, response);
    return answer(response, 404, { error: 'not_found' });
  });
  issuer = `http://127.0.0.1:${await listen(server)}`;
  return Object.assign(idp, {
    issuer,
    stop: () => close(server),
  });
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' }).end(JSON.stringify(body));
}
