// Changes an account on behalf of an operator.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { operatorKeys } from '../../../api/operator.js';
import { toast } from '../../../ui/toasts/toast.js';

/** Returns the mutation of a dialog that changes an account: when it is done, the account is read again and the dialog closes. */
export function useAccountChange<T>(id: string, change: () => Promise<T>, done: string, onClose: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: change,
    async onSuccess() {
      await Promise.all([operatorKeys.account(id), operatorKeys.accounts].map((queryKey) => client.invalidateQueries({ queryKey })));
      toast(done);
      onClose();
    },
  });
}
