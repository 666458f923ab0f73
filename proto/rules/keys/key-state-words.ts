// The words for the state of a key, apart from the rule that chooses one, so that schemas can name them without the contracts.

/** All words; each hides those after it. */
export const keyStateWords = ['revoked', 'suspended', 'disabled', 'expired', 'limit_reached', 'rotating', 'active'] as const;

/** One of them. Calls are served in the last two only; rotating: previous secrets remain valid for a while. */
export type KeyStateWord = (typeof keyStateWords)[number];
