// Requests a second factor: a code of an app, a passkey, or a recovery code.
import { useState } from 'react';
import { ApiError } from '../../api/client.js';
import type { Proof, SecondFactorChallenge } from '../../api/second-factor.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { TextField } from '../../ui/field.js';
import { Form } from '../../ui/form.js';
import { Notice } from '../../ui/notice.js';
import { useSignInOptions } from '../users/sign-in/sign-in-options.js';
import { canUsePasskeys, usePasskey } from './passkey.js';

/** Whether the second factor was not accepted. */
export const isFactorRefused = (error: unknown): boolean => error instanceof ApiError && error.rule === 'factor_refused';

export function ProofForm({
  challenge,
  error,
  busy,
  submit: submitText,
  onProof,
}: {
  challenge: SecondFactorChallenge;
  /** The error of the last proof; that of a wrong code is shown at its field. */
  error: unknown;
  busy: boolean;
  submit: string;
  onProof: (proof: Proof) => void;
}) {
  const t = useText(secondFactorText);
  const origin = useSignInOptions().data?.passkey_origin;
  const hasPasskey = challenge.passkey !== null && canUsePasskeys(origin);
  const [isRecovery, setRecovery] = useState(!challenge.totp && !hasPasskey);
  const [code, setCode] = useState('');
  const [isDeclined, setDeclined] = useState(false);
  /** The name of the code that was sent last. */
  const [sent, setSent] = useState<'totp_code' | 'recovery_code'>();
  const asked = isRecovery ? 'recovery_code' : 'totp_code';
  const isRefused = isFactorRefused(error);
  const showsCode = isRecovery || challenge.totp;
  const answer = async (): Promise<void> => {
    setDeclined(false);
    setSent(undefined);
    try {
      onProof({ passkey: await usePasskey(challenge.passkey!) });
    } catch {
      setDeclined(true);
    }
  };
  return (
    <div className="flex flex-col gap-4">
      {isDeclined && (
        <Notice tone="bad" live>
          {t.passkeyDeclined}
        </Notice>
      )}
      {isRefused && sent === undefined && (
        <Notice tone="bad" live>
          {t.passkeyNotAccepted}
        </Notice>
      )}
      {hasPasskey && (
        <Button look={showsCode ? 'secondary' : 'primary'} busy={busy} onClick={() => void answer()}>
          {t.usePasskey}
        </Button>
      )}
      {showsCode && (
        <Form
          onSubmit={() => {
            setSent(asked);
            onProof({ [asked]: code });
          }}
        >
          <TextField
            key={asked}
            label={isRecovery ? t.recoveryCode : t.code}
            hint={isRecovery ? t.recoveryCodeHint : t.codeHint}
            name="code"
            autoFocus
            autoComplete={isRecovery ? 'off' : 'one-time-code'}
            inputMode={isRecovery ? 'text' : 'numeric'}
            autoCapitalize="none"
            spellCheck={false}
            maxLength={isRecovery ? 40 : 8}
            required
            value={code}
            onChange={(event) => setCode(event.target.value)}
            error={isRefused && sent === asked ? { error, text: isRecovery ? t.recoveryCodeRefused : t.codeRefused } : undefined}
          />
          <Button type="submit" look="primary" busy={busy}>
            {submitText}
          </Button>
        </Form>
      )}
      {challenge.recovery_codes && (challenge.totp || hasPasskey || !isRecovery) && (
        <Button
          look="ghost"
          onClick={() => {
            setCode('');
            setRecovery(!isRecovery);
          }}
        >
          {isRecovery ? t.otherWay : t.useRecoveryCode}
        </Button>
      )}
      {!challenge.totp && !hasPasskey && !challenge.recovery_codes && <p>{t.noWay}</p>}
    </div>
  );
}
