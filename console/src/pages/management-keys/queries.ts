// What the page about management keys fetches.

/** All management keys of an account. */
export const managementKeysKey = (accountId: string) => ['management-keys', accountId] as const;
