import type { SecretSource } from '../secret.ts';

/** How the client authenticates at the token endpoint, by its name in RFC 7591 and OpenID Connect. */
export type ClientAuthentication = 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';

export type AssertionAlgorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA';

/** OAuth 2.0 client credentials (part 5 of src/provider/README.md). */
export interface OAuth2Settings {
  readonly type: 'oauth2';
  readonly tokenUrl: string;
  readonly clientId: string;
  /** Absent or null: basic, and where that is refused the secret in the form. */
  readonly clientAuthentication?: ClientAuthentication | null | undefined;
  readonly clientSecret?: SecretSource | null | undefined;
  /** PEM text of the key that signs the assertion of private_key_jwt. */
  readonly privateKey?: SecretSource | null | undefined;
  readonly keyId?: string | null | undefined;
  /** RS256 by default. */
  readonly algorithm?: AssertionAlgorithm | undefined;
  /** `aud` of the assertion; the token URL by default. */
  readonly assertionAudience?: string | null | undefined;
  /** `openid` for market data. */
  readonly scope?: string | null | undefined;
  /** For which service the token is, where the token endpoint wants to know it. */
  readonly audience?: string | null | undefined;
  /** The same as an address (RFC 8707). */
  readonly resource?: string | null | undefined;
}
