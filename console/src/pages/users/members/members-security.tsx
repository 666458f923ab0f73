// Whether the account requires a second factor of its members, and the owner's change of that.
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { getAccountSecurity, type Member, updateAccountSecurity } from '../../../api/users.js';
import { membersText } from '../../../i18n/members.js';
import { useText } from '../../../i18n/text.js';
import { type AccountInUse, useMe } from '../../../session/account.js';
import { meKey } from '../../../session/queries.js';
import { Button } from '../../../ui/button.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { Card, Section } from '../../../ui/layout.js';
import { ErrorNotice } from '../../../ui/notice.js';
import { Fetched } from '../../../ui/query.js';
import { toast } from '../../../ui/toasts/toast.js';

export function SecuritySection({ account, members }: { account: AccountInUse; members: readonly Member[] }) {
  const t = useText(membersText);
  const me = useMe();
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const queryKey = ['account-security', account.id];
  const query = useQuery({ queryKey, queryFn: ({ signal }) => getAccountSecurity(account.id, signal) });
  const saving = useMutation({
    mutationFn: (isRequired: boolean) => updateAccountSecurity(account.id, { require_second_factor: isRequired }),
    onSuccess(security) {
      client.setQueryData(queryKey, security);
      setAsking(false);
      toast(security.require_second_factor ? t.isRequired : t.isOptional);
      // The owner may have no second factor either.
      return client.invalidateQueries({ queryKey: meKey });
    },
  });
  const isRequired = query.data?.require_second_factor === true;
  const without = members.filter((member) => !member.has_second_factor);
  const error = saving.error !== null && <ErrorNotice error={saving.error} />;
  return (
    <Section
      title={t.security}
      actions={
        account.role === 'owner' &&
        query.data !== undefined && (
          <Button busy={saving.isPending} onClick={() => (isRequired ? saving.mutate(false) : setAsking(true))}>
            {isRequired ? t.stopRequiring : t.requireFactor}
          </Button>
        )
      }
    >
      {!isAsking && error}
      <Fetched query={query}>
        {({ require_second_factor }) => <Card>{require_second_factor ? t.factorRequired : t.factorOptional}</Card>}
      </Fetched>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setAsking(false)}
        onConfirm={() => saving.mutate(true)}
        title={t.requireTitle}
        description={t.requireHint({ count: without.length })}
        confirm={t.requireFactor}
        busy={saving.isPending}
      >
        {without.some(({ id }) => id === me.user.id) && <p>{t.requireSelf}</p>}
        {error}
      </ConfirmDialog>
    </Section>
  );
}
