// The claims of an identity provider (OpenID Connect Core 1.0, section 5.1), as far as auth uses them.

/** Holds what an identity provider asserts about a user. */
export interface IdentityClaims {
  /** Issuer and subject together identify one identity permanently. */
  readonly issuer: string;
  readonly subject: string;
  readonly email: string;
  /** The provider has verified the address. */
  readonly emailVerified: boolean;
  readonly name: string;
  /** When the provider authenticated the user; undefined if it does not say. */
  readonly authenticatedAtMs: number | undefined;
}
