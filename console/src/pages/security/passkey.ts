// Creates and uses passkeys in the browser. Their options and responses are JSON (WebAuthn Level 3, sections 5.1.8 to 5.1.10).

type Json = Readonly<Record<string, unknown>>;

/** Whether this page can use passkeys: it is at the origin for which they are created, and the browser reads their options. */
export const canUsePasskeys = (origin: string | null | undefined): boolean =>
  origin === location.origin && 'PublicKeyCredential' in window && 'parseRequestOptionsFromJSON' in PublicKeyCredential;

/** Creates a passkey. Raises the browser's DOMException when the user declines. */
export async function createPasskey(options: Json): Promise<Json> {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as unknown as PublicKeyCredentialCreationOptionsJSON);
  return jsonOf(await navigator.credentials.create({ publicKey }));
}

/** Uses a passkey. Raises the browser's DOMException when the user declines. */
export async function usePasskey(options: Json): Promise<Json> {
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options as unknown as PublicKeyCredentialRequestOptionsJSON);
  return jsonOf(await navigator.credentials.get({ publicKey }));
}

/** Whether the error comes from the browser, not from the API. Usually the user declined or took too long. */
export const isPasskeyError = (error: unknown): boolean => error instanceof DOMException;

/** Whether the device has one of the passkeys that the options of a new one exclude: those that the user already has. */
export const isPasskeyPresent = (error: unknown): boolean => error instanceof DOMException && error.name === 'InvalidStateError';

const jsonOf = (credential: Credential | null): Json => ({ ...(credential as PublicKeyCredential).toJSON() });
