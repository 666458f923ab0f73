// Making redemption codes, and showing them the one time that they are shown.
import { useMutation } from '@tanstack/react-query';
import { type SyntheticEvent, useId, useRef, useState } from 'react';
import { createCodes, type MadeCodes } from '../../api/codes.js';
import { codesText } from '../../i18n/codes.js';
import { commonText } from '../../i18n/common.js';
import { useText } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { CopyButton } from '../../ui/copy.js';
import { Dialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { fieldError, FormError } from '../../ui/notice.js';

const nothing = { amount: '', count: '1', expires: '', note: '' };

export function MakeCodesDialog({ open, onClose, onMade }: { open: boolean; onClose: () => void; onMade: (made: MadeCodes) => void }) {
  const t = useText(codesText);
  const common = useText(commonText);
  const form = useId();
  const first = useRef<HTMLInputElement>(null);
  const [fields, setFields] = useState(nothing);
  const change = (name: keyof typeof nothing) => ({ value: fields[name], onChange: (event: { target: { value: string } }) => setFields({ ...fields, [name]: event.target.value }) });
  const make = useMutation({
    mutationFn: () =>
      createCodes({
        amount_usd: fields.amount.trim(),
        count: Number(fields.count),
        expires_at: fields.expires === '' ? null : new Date(`${fields.expires}T23:59:59.999`).toISOString(),
        note: fields.note.trim(),
      }),
    onSuccess: (made) => {
      setFields(nothing);
      onMade(made);
    },
  });
  const submit = (event: SyntheticEvent): void => {
    event.preventDefault();
    make.mutate();
  };
  return (
    <Dialog
      open={open}
      onClose={() => {
        make.reset();
        onClose();
      }}
      title={t.make}
      description={t.description}
      initialFocus={first}
      footer={
        <>
          <Button onClick={onClose}>{common.cancel}</Button>
          <Button type="submit" form={form} look="primary" busy={make.isPending}>
            {t.make}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-4">
        <FormError error={make.error} fields={['amount_usd', 'count', 'expires_at', 'note']} />
        <TextField ref={first} label={t.amount} hint={t.amountHint} inputMode="decimal" required error={fieldError(make.error, 'amount_usd')} {...change('amount')} />
        <TextField label={t.count} hint={t.countHint} type="number" min={1} max={500} required error={fieldError(make.error, 'count')} {...change('count')} />
        <TextField label={t.expires} hint={t.expiresHint} type="date" optional error={fieldError(make.error, 'expires_at')} {...change('expires')} />
        <TextField label={t.note} hint={t.noteHint} maxLength={200} optional error={fieldError(make.error, 'note')} {...change('note')} />
      </form>
    </Dialog>
  );
}

/** Shows the codes. Only its button closes it: they cannot be shown again. */
export function MadeCodesDialog({ made, onClose }: { made: MadeCodes; onClose: () => void }) {
  const t = useText(codesText);
  const shown = useRef<HTMLPreElement>(null);
  const text = made.data.map(({ code }) => code).join('\n');
  return (
    <Dialog
      open
      sticky
      onClose={onClose}
      title={t.madeTitle({ count: made.data.length })}
      description={t.madeAbout}
      footer={
        <>
          <CopyButton text={text} label={made.data.length > 1 ? t.copyAll : undefined} source={shown} />
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
