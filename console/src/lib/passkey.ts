/** Passkeys by the browser's own forms of JSON (WebAuthn Level 3, section 5.1). */

interface JsonKeys {
	parseRequestOptionsFromJSON(options: unknown): PublicKeyCredentialRequestOptions;
	parseCreationOptionsFromJSON(options: unknown): PublicKeyCredentialCreationOptions;
}

interface JsonCredential {
	toJSON(): Record<string, unknown>;
}

const keys = (): JsonKeys | null => {
	const known = (globalThis as { PublicKeyCredential?: Partial<JsonKeys> }).PublicKeyCredential;
	return known?.parseRequestOptionsFromJSON ? (known as JsonKeys) : null;
};

/** Whether this browser can. */
export const hasPasskeys = (): boolean => keys() !== null;

/** What the person's passkey says to these options of the server. */
export async function usePasskey(options: unknown): Promise<Record<string, unknown>> {
	const publicKey = keys()?.parseRequestOptionsFromJSON(options);
	const credential = await navigator.credentials.get({ publicKey });
	return (credential as unknown as JsonCredential).toJSON();
}

/** A new passkey, for these options of the server. */
export async function makePasskey(options: unknown): Promise<Record<string, unknown>> {
	const publicKey = keys()?.parseCreationOptionsFromJSON(options);
	const credential = await navigator.credentials.create({ publicKey });
	return (credential as unknown as JsonCredential).toJSON();
}
