// The query cache keys of the pages about users and members.

export const membersKey = (accountId: string) => ['members', accountId] as const;
export const invitationsKey = (accountId: string) => ['members', accountId, 'invitations'] as const;
export const sessionsKey = ['me', 'sessions'] as const;
