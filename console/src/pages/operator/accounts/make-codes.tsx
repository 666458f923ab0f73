// Creates redemption codes, and shows them once.
import { useMutation, useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { createCodes, type CodesCreated } from '../../../api/codes.js';
import { getOperatorSettings, operatorKeys } from '../../../api/operator.js';
import { nanoUsdOf, typedUsd, usdOfNano, usdText } from '../../../format/money.js';
import { useZone, zoneName } from '../../../format/time.js';
import { codesText } from '../../../i18n/codes.js';
import { useText } from '../../../i18n/text.js';
import { useLeaveGuard } from '../../../session/leave-guard.js';
import { Button } from '../../../ui/button.js';
import { CopyButton } from '../../../ui/copy.js';
import { Dialog, FormDialog } from '../../../ui/dialog.js';
import { TextField } from '../../../ui/field.js';
import { fieldError, FormError } from '../../../ui/notice.js';

const nothing = { amount: '', count: '1', again: '', expires: '', note: '' };
const amountForm = /^\d{1,10}(\.\d{1,9})?$/;

export function MakeCodesDialog({ open, onClose, onMade }: { open: boolean; onClose: () => void; onMade: (made: CodesCreated) => void }) {
  const t = useText(codesText);
  const zone = useZone();
  const first = useRef<HTMLInputElement>(null);
  const [fields, setFields] = useState(nothing);
  const change = (name: keyof typeof nothing) => ({
    value: fields[name],
    onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }),
  });
  const settings = useQuery({ queryKey: operatorKeys.settings, queryFn: ({ signal }) => getOperatorSettings(signal), staleTime: Infinity });
  const lastMoment = fields.expires === '' ? undefined : new Date(`${fields.expires}T23:59:59.999${zone === 'utc' ? 'Z' : ''}`);
  const above = settings.data?.confirm_above_usd;
  const together = togetherNano(fields);
  const isLarge = above !== undefined && together !== undefined && together > nanoUsdOf(above);
  const make = useMutation({
    mutationFn: () =>
      createCodes({
        amount_usd: typedUsd(fields.amount),
        count: Number(fields.count),
        expires_at: lastMoment?.toISOString() ?? null,
        note: fields.note.trim(),
        ...(isLarge ? { confirm_amount_usd: typedUsd(fields.again) } : {}),
      }),
    onSuccess: (made) => {
      setFields(nothing);
      onMade(made);
    },
  });
  return (
    <FormDialog
      open={open}
      onClose={() => {
        make.reset();
        onClose();
      }}
      title={t.make}
      description={t.description}
      initialFocus={first}
      submit={t.make}
      busy={make.isPending}
      onSubmit={() => make.mutate()}
    >
      <FormError error={make.error} fields={['amount_usd', 'count', ...(isLarge ? ['confirm_amount_usd'] : []), 'expires_at', 'note']} />
      <TextField
        ref={first}
        label={t.amount}
        hint={t.amountHint}
        inputMode="decimal"
        required
        error={fieldError(make.error, 'amount_usd')}
        {...change('amount')}
      />
      <TextField
        label={t.count}
        hint={t.countHint}
        type="number"
        min={1}
        max={500}
        required
        error={fieldError(make.error, 'count')}
        {...change('count')}
      />
      {isLarge && (
        <TextField
          label={t.again}
          hint={t.againHint({ together: usdText(usdOfNano(together)), above: usdText(above) })}
          inputMode="decimal"
          required
          error={fieldError(make.error, 'confirm_amount_usd')}
          {...change('again')}
        />
      )}
      <TextField
        label={t.expires}
        hint={t.expiresHint({ zone: zoneName(zone, lastMoment) })}
        type="date"
        optional
        error={fieldError(make.error, 'expires_at')}
        {...change('expires')}
      />
      <TextField label={t.note} hint={t.noteHint} maxLength={200} optional error={fieldError(make.error, 'note')} {...change('note')} />
    </FormDialog>
  );
}

/** The total value of the codes; undefined until value and number are filled in. */
function togetherNano({ amount, count }: { readonly amount: string; readonly count: string }): bigint | undefined {
  const typed = typedUsd(amount);
  return amountForm.test(typed) && /^\d{1,3}$/.test(count) ? nanoUsdOf(typed) * BigInt(count) : undefined;
}

/** Shows the codes. Only its button closes it: they cannot be shown again. Until they are copied, the page cannot be left by accident either. */
export function MadeCodesDialog({ made, onClose }: { made: CodesCreated; onClose: () => void }) {
  const t = useText(codesText);
  const shown = useRef<HTMLPreElement>(null);
  const [isCopied, setCopied] = useState(false);
  useLeaveGuard(!isCopied);
  const text = made.data.map(({ code }) => code).join('\n');
  return (
    <Dialog
      sticky
      onClose={onClose}
      title={t.madeTitle({ count: made.data.length })}
      description={t.madeAbout}
      footer={
        <>
          <CopyButton text={text} label={made.data.length > 1 ? t.copyAll : undefined} source={shown} onCopied={() => setCopied(true)} />
          <Button look="primary" onClick={onClose}>
            {t.kept}
          </Button>
        </>
      }
    >
      <pre ref={shown} tabIndex={0} role="group" aria-label={t.codes} className="max-h-80 overflow-auto rounded-md bg-panel p-3">
        {text}
      </pre>
    </Dialog>
  );
}
