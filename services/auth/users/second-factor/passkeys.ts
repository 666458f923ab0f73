// Passkeys: WebAuthn credentials for the public address of the console.
import { createHash } from 'node:crypto';
import { isIP } from 'node:net';
import type { WebAuthnCredential } from '@simplewebauthn/server';
import { fault } from '#client/errors/fault.js';
import type { Logger } from '#kit/log.js';

/** Loaded when it is first needed, because most processes never verify a passkey. */
const library = () => import('@simplewebauthn/server');

const responseCharsMax = 10_000;

/** Holds what is stored of a passkey, besides its counter. */
export interface PasskeyData {
  /** The credential id in base64url. */
  readonly credentialId: string;
  /** COSE key in base64url. */
  readonly publicKey: string;
  readonly transports: readonly string[];
}

/** The address for which passkeys are created. */
interface RelyingParty {
  /** The host name. */
  readonly id: string;
  readonly origin: string;
}

/**
 * Returns the relying party of a public address; undefined where browsers offer no passkeys: without TLS, except on this machine, and at IP addresses
 * (https://www.w3.org/TR/webauthn-3/#relying-party-identifier).
 */
export function relyingPartyOf(publicUrl: string | undefined): RelyingParty | undefined {
  if (publicUrl === undefined) return undefined;
  const { protocol, hostname, origin } = new URL(publicUrl);
  const isSecure = protocol === 'https:' || hostname === 'localhost' || hostname.endsWith('.localhost');
  const isAddress = isIP(hostname) !== 0 || hostname.startsWith('[');
  return isSecure && !isAddress ? { id: hostname, origin } : undefined;
}

/** Returns the hash under which a credential is found. */
export function credentialHash(credentialId: string): Buffer {
  return createHash('sha256').update(credentialId).digest();
}

/** Creates and verifies passkeys. Its methods raise failed_precondition where passkeys cannot be used. */
export class Passkeys {
  private readonly party: RelyingParty | undefined;

  constructor(
    publicUrl: string | undefined,
    private readonly log: Logger,
  ) {
    this.party = relyingPartyOf(publicUrl);
  }

  /** The origin of the pages that can use passkeys; undefined if none can. */
  get origin(): string | undefined {
    return this.party?.origin;
  }

  /** Returns the options with which a browser creates a passkey, as JSON, and their challenge. */
  async creationOptions(
    user: { readonly id: Buffer; readonly email: string; readonly name: string },
    present: readonly PasskeyData[],
  ): Promise<{ json: string; challenge: string }> {
    const { generateRegistrationOptions } = await library();
    const options = await generateRegistrationOptions({
      rpName: 'Tollgate',
      rpID: this.usable().id,
      userID: new Uint8Array(user.id),
      userName: user.email,
      userDisplayName: user.name,
      excludeCredentials: present.map(described),
      // A discoverable passkey can also be used without a password.
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'preferred' },
    });
    return { json: JSON.stringify(options), challenge: options.challenge };
  }

  /** Returns a new passkey with its counter; undefined for a response that is not valid for the challenge. */
  async created(responseJson: string, challenge: string): Promise<{ data: PasskeyData; counter: number } | undefined> {
    const { id: expectedRPID, origin: expectedOrigin } = this.usable();
    const { verifyRegistrationResponse } = await library();
    const registration = await this.unlessInvalid(responseJson, (response: Parameters<typeof verifyRegistrationResponse>[0]['response']) =>
      verifyRegistrationResponse({ response, expectedChallenge: challenge, expectedOrigin, expectedRPID, requireUserVerification: false }),
    );
    if (registration?.verified !== true) return undefined;
    const { id: credentialId, publicKey, counter, transports = [] } = registration.registrationInfo.credential;
    const data = { credentialId, publicKey: Buffer.from(publicKey).toString('base64url'), transports: transports.slice(0, 10) };
    return { data, counter };
  }

  /** Returns the options with which a browser uses a passkey, as JSON, and their challenge. Without known passkeys, the user chooses one of their own. */
  async requestOptions(known: readonly PasskeyData[]): Promise<{ json: string; challenge: string }> {
    const { generateAuthenticationOptions } = await library();
    const options = await generateAuthenticationOptions({
      rpID: this.usable().id,
      allowCredentials: known.map(described),
      userVerification: known.length === 0 ? 'required' : 'preferred',
    });
    return { json: JSON.stringify(options), challenge: options.challenge };
  }

  /**
   * Returns the new counter of a passkey; undefined for a response that is not valid for the challenge. `isCopied`: the counter has not increased, so the
   * authenticator may have been copied (https://www.w3.org/TR/webauthn-3/#sctn-sign-counter). `alone`: there was no password, so the authenticator must have
   * verified the user.
   */
  async used(
    responseJson: string,
    challenge: string,
    passkey: PasskeyData,
    counter: number,
    alone: boolean,
  ): Promise<{ counter: number; isCopied: boolean } | undefined> {
    const { id: expectedRPID, origin: expectedOrigin } = this.usable();
    const { verifyAuthenticationResponse } = await library();
    const credential: WebAuthnCredential = {
      id: passkey.credentialId,
      publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
      // The library would compare the counter before it verifies the signature.
      counter: 0,
    };
    const use = await this.unlessInvalid(responseJson, (response: Parameters<typeof verifyAuthenticationResponse>[0]['response']) =>
      verifyAuthenticationResponse({
        response,
        expectedChallenge: challenge,
        expectedOrigin,
        expectedRPID,
        credential,
        requireUserVerification: alone,
      }),
    );
    if (use?.verified !== true) return undefined;
    const { newCounter } = use.authenticationInfo;
    return { counter: newCounter, isCopied: (newCounter > 0 || counter > 0) && newCounter <= counter };
  }

  /** Returns the id of the credential in a response; undefined if there is none. */
  credentialIdOf(responseJson: string): string | undefined {
    const id = (parsed(responseJson) as { id?: unknown } | undefined)?.id;
    return typeof id === 'string' ? id : undefined;
  }

  private usable(): RelyingParty {
    if (this.party === undefined) throw fault('no_passkeys', {});
    return this.party;
  }

  /** Runs a verification; returns undefined if it fails, which the library reports by an error. */
  private async unlessInvalid<R, T>(responseJson: string, verify: (response: R) => Promise<T>): Promise<T | undefined> {
    const response = parsed(responseJson);
    if (response === undefined) return undefined;
    try {
      return await verify(response as R);
    } catch (error) {
      this.log.info({ why: error instanceof Error ? error.message : String(error) }, 'a passkey was rejected');
      return undefined;
    }
  }
}

function described({ credentialId, transports }: PasskeyData): { id: string; transports: string[] } {
  return { id: credentialId, transports: [...transports] };
}

function parsed(json: string): unknown {
  if (json.length > responseCharsMax) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
