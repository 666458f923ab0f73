// The keys under which the pages of people keep what was fetched.

export const membersKey = (accountId: string) => ['members', accountId] as const;
export const invitationsKey = (accountId: string) => ['members', accountId, 'invitations'] as const;
export const sessionsKey = ['me', 'sessions'] as const;
