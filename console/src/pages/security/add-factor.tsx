// The dialogs in which a user sets up an authenticator app or a passkey.
import { useMutation } from '@tanstack/react-query';
import { type ReactNode, useRef, useState } from 'react';
import { addSecondFactor, type SecondFactorBegun } from '../../api/second-factor.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { CopyButton } from '../../ui/copy.js';
import { FormDialog } from '../../ui/dialog.js';
import { TextField } from '../../ui/field.js';
import { fieldError, FormError, Notice } from '../../ui/notice.js';
import { createPasskey, isPasskeyError, isPasskeyPresent } from './passkey.js';

/** `onAdded` gets the recovery codes of the first factor. */
export function AddFactorDialog({
  begun,
  onClose,
  onAdded,
}: {
  begun: SecondFactorBegun;
  onClose: () => void;
  onAdded: (recoveryCodes: readonly string[] | null) => void;
}) {
  const t = useText(secondFactorText);
  const { enrolment, totp, passkey } = begun;
  const [name, setName] = useState(totp === null ? t.passkeyName : t.app);
  const [code, setCode] = useState('');
  const add = useMutation({
    mutationFn: async () =>
      addSecondFactor({ enrolment, name, ...(totp === null ? { passkey: await createPasskey(passkey!) } : { totp_code: code }) }),
    onSuccess: (added) => onAdded(added.recovery_codes),
  });
  return (
    <FormDialog
      onClose={onClose}
      title={totp === null ? t.addPasskey : t.setUpApp}
      description={totp === null ? t.addPasskeyHint : t.setUpAppHint}
      submit={totp === null ? t.createPasskey : t.turnOn}
      busy={add.isPending}
      onSubmit={() => add.mutate()}
    >
      {isPasskeyError(add.error) ? (
        <Notice tone="bad" live>
          {isPasskeyPresent(add.error) ? t.passkeyPresent : t.passkeyNotCreated}
        </Notice>
      ) : (
        <FormError error={add.error} fields={['name', 'totp_code']} />
      )}
      {totp !== null && <Secret {...totp} />}
      <TextField
        label={t.name}
        hint={t.nameHint}
        name="name"
        required
        maxLength={200}
        value={name}
        onChange={(event) => setName(event.target.value)}
        error={fieldError(add.error, 'name')}
      />
      {totp !== null && (
        <TextField
          label={t.code}
          hint={t.codeHint}
          name="code"
          autoComplete="one-time-code"
          inputMode="numeric"
          maxLength={8}
          required
          value={code}
          onChange={(event) => setCode(event.target.value)}
          error={fieldError(add.error, 'totp_code')}
        />
      )}
    </FormDialog>
  );
}

function Secret({ secret, uri, qr }: NonNullable<SecondFactorBegun['totp']>): ReactNode {
  const t = useText(secondFactorText);
  const shown = useRef<HTMLElement>(null);
  return (
    <div className="mb-4 flex flex-wrap items-start gap-4">
      {/* Dark on light in both themes, because many apps read no other QR codes. */}
      <svg
        viewBox={`0 0 ${qr.size} ${qr.size}`}
        role="img"
        aria-label={t.qr}
        shapeRendering="crispEdges"
        className="size-48 shrink-0 rounded-md border border-line"
      >
        <rect width={qr.size} height={qr.size} fill="#fff" />
        <path d={qr.path} fill="#000" />
      </svg>
      <div className="min-w-0 flex-1 basis-52">
        <p className="mb-1 text-sm font-medium">{t.secret}</p>
        <p className="mb-2">
          <code ref={shown} className="wrap-anywhere">
            {secret.replace(/(.{4})(?=.)/g, '$1 ')}
          </code>
        </p>
        <CopyButton text={secret} source={shown} size="small" />
        <p className="mt-3 text-sm">
          <a href={uri} className="link">
            {t.openApp}
          </a>
        </p>
      </div>
    </div>
  );
}
