// The query of the page about management keys.

/** All management keys of an account. */
export const managementKeysKey = (accountId: string) => ['management-keys', accountId] as const;
