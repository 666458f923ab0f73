// The keys with which auth signs actor tokens: created here, encrypted at rest, shared by all replicas through the database, and rotated
// so that services know the next key before anything is signed with it.
import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose/jwk/thumbprint';
import type { Clock } from '#kit/clock.js';
import { AppError } from '#client/errors/app-error.js';
import type { Logger } from '#kit/log.js';
import { type ActorKey, actorTokenSecondsMax } from '#kit/rpc/actor-token.js';
import { repeat } from '#kit/scheduling/repeat.js';
import type { SecretBox } from '#kit/secrets/secret-box.js';
import type { SigningKeyStore, StoredSigningKey } from './signing-key-store.js';

/** How long a new key is published before it signs: by then every replica has read it and sent it to every service. */
export const publishedBeforeUseMs = 60_000;
const readEveryMs = 10_000;
// Tokens of a replaced key remain valid until they expire; the minute allows for clocks that differ.
const keptAfterUseMs = actorTokenSecondsMax * 1000 + 60_000;

/** Holds the dependencies of the keys. */
export interface SigningKeyDeps {
  readonly store: SigningKeyStore;
  readonly box: SecretBox;
  readonly clock: Clock;
  readonly log: Logger;
  /** How long a key signs. */
  readonly lifeMs: number;
}

interface OpenedSigningKey extends StoredSigningKey {
  readonly privateKey: KeyObject;
}

/** Holds the current keys and rotates them. */
export class SigningKeys {
  private stored: readonly OpenedSigningKey[] = [];
  private keys: readonly ActorKey[] = [];
  private stopReading: (() => Promise<void>) | undefined;

  constructor(private readonly deps: SigningKeyDeps) {}

  /** Reads the keys, and creates the first one of an installation. Raises failed_precondition when they cannot be opened. */
  async start(): Promise<void> {
    await this.refresh();
    this.stopReading = repeat(
      readEveryMs,
      () => this.refresh(),
      (error) => this.deps.log.warn({ err: error }, 'the signing keys could not be read; the ones that were read last stay in use'),
    );
  }

  async stop(): Promise<void> {
    await this.stopReading?.();
  }

  /** Returns the current signing key: the latest one that has begun. */
  current(): { readonly kid: string; readonly privateKey: KeyObject } {
    return this.stored[this.presentIndex()]!;
  }

  /** Returns the public keys with which valid tokens may be signed, now or within a minute: the same array until they change. */
  published(): readonly ActorKey[] {
    return this.keys;
  }

  /** Reads the changes of other replicas, replaces a key at the end of its life, and removes keys that no longer sign anything. */
  async refresh(): Promise<void> {
    const { store, clock, lifeMs } = this.deps;
    const nowMs = clock.nowMs();
    let stored = await store.list();
    const latest = stored.at(-1);
    if (latest === undefined || latest.createdAtMs + lifeMs <= nowMs) {
      // Another replica may have created it at the same moment; either key will do.
      await store.add(await this.newKey((latest?.number ?? 0) + 1, nowMs, latest === undefined ? nowMs : nowMs + publishedBeforeUseMs));
      stored = await store.list();
    }
    const isOver = stored.findLastIndex(({ signsFromMs }) => signsFromMs + keptAfterUseMs <= nowMs);
    if (isOver > 0) {
      await store.removeBefore(stored[isOver]!.number);
      stored = stored.slice(isOver);
    }
    this.stored = stored.map((key) => this.stored.find(({ kid }) => kid === key.kid) ?? this.open(key));
    const hasChanged = stored.map(({ kid }) => kid).join() !== this.keys.map(({ kid }) => kid).join();
    if (hasChanged) this.keys = stored.map(({ kid, publicKey }) => ({ kid, publicKey }));
  }

  private presentIndex(): number {
    const nowMs = this.deps.clock.nowMs();
    return Math.max(
      0,
      this.stored.findLastIndex(({ signsFromMs }) => signsFromMs <= nowMs),
    );
  }

  private async newKey(number: number, createdAtMs: number, signsFromMs: number): Promise<StoredSigningKey> {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const jwk = publicKey.export({ format: 'jwk' });
    const kid = await calculateJwkThumbprint(jwk);
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }) as string;
    this.deps.log.info({ kid }, 'created a signing key');
    return {
      number,
      kid,
      publicKey: Buffer.from(jwk.x!, 'base64url'),
      sealedPrivateKey: this.deps.box.seal(pem, signingKeyPurpose(kid)),
      createdAtMs,
      signsFromMs,
    };
  }

  private open(key: StoredSigningKey): OpenedSigningKey {
    const pem = this.deps.box.open(key.sealedPrivateKey, signingKeyPurpose(key.kid));
    if (pem === undefined) {
      throw new AppError(
        'failed_precondition',
        'The signing keys in the database of auth cannot be opened with the keys in its secret key file. Restore the file from your copy.',
      );
    }
    return { ...key, privateKey: createPrivateKey(pem) };
  }
}

/** Returns the purpose for which a signing key is sealed. */
export function signingKeyPurpose(kid: string): string {
  return `actor signing key ${kid}`;
}
