// A WebAuthn authenticator in software, for tests: it creates an ES256 credential without attestation, and signs with it
// (https://www.w3.org/TR/webauthn-3/#sctn-authenticator-data).
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';

interface Options {
  readonly challenge: string;
}

const userPresent = 0x01;
const userVerified = 0x04;
const hasCredential = 0x40;

/** One credential of one relying party. */
export class SoftwareAuthenticator {
  readonly id = randomBytes(16).toString('base64url');
  private readonly privateKey: KeyObject;
  private readonly coseKey: Uint8Array;
  /** The counter of the next signature. */
  counter = 0;

  constructor(
    private readonly origin: string,
    private readonly verifiesUser = true,
  ) {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.privateKey = privateKey;
    const { x, y } = publicKey.export({ format: 'jwk' });
    const bytes = (text: string | undefined): Uint8Array => new Uint8Array(Buffer.from(text!, 'base64url'));
    // RFC 9053: EC2, ES256, P-256.
    this.coseKey = isoCBOR.encode(
      new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(x)],
        [-3, bytes(y)],
      ]),
    );
  }

  /** Returns the RegistrationResponseJSON to these options. */
  create(optionsJson: string): string {
    const id = Buffer.from(this.id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(id.length);
    const credential = Buffer.concat([Buffer.alloc(16), length, id, this.coseKey]);
    const authData = new Uint8Array(Buffer.concat([this.data(hasCredential), credential]));
    const attestation = new Map<string, unknown>([
      ['fmt', 'none'],
      ['attStmt', new Map()],
      ['authData', authData],
    ]);
    return this.response({
      clientDataJSON: this.clientData('webauthn.create', optionsJson),
      attestationObject: Buffer.from(isoCBOR.encode(attestation as never)).toString('base64url'),
      transports: ['internal'],
    });
  }

  /** Returns the AuthenticationResponseJSON to these options. */
  get(optionsJson: string): string {
    const clientDataJSON = this.clientData('webauthn.get', optionsJson);
    const data = this.data(0);
    const signed = Buffer.concat([data, createHash('sha256').update(Buffer.from(clientDataJSON, 'base64url')).digest()]);
    return this.response({
      clientDataJSON,
      authenticatorData: data.toString('base64url'),
      signature: sign('sha256', signed, this.privateKey).toString('base64url'),
    });
  }

  private data(flags: number): Buffer {
    const rest = Buffer.alloc(5);
    rest.writeUInt8(flags | userPresent | (this.verifiesUser ? userVerified : 0));
    rest.writeUInt32BE(this.counter, 1);
    return Buffer.concat([createHash('sha256').update(new URL(this.origin).hostname).digest(), rest]);
  }

  private clientData(type: string, optionsJson: string): string {
    const { challenge } = JSON.parse(optionsJson) as Options;
    return Buffer.from(JSON.stringify({ type, challenge, origin: this.origin, crossOrigin: false })).toString('base64url');
  }

  private response(response: Record<string, unknown>): string {
    return JSON.stringify({ id: this.id, rawId: this.id, type: 'public-key', clientExtensionResults: {}, response });
  }
}
