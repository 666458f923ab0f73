// The second step of a sign-in.
import { useMutation } from '@tanstack/react-query';
import { finishSignIn, type Proof, type SecondFactorChallenge } from '../../api/second-factor.js';
import { secondFactorText } from '../../i18n/second-factor.js';
import { useText } from '../../i18n/text.js';
import { Button } from '../../ui/button.js';
import { PageHeader } from '../../ui/layout.js';
import { SignInFault } from '../users/sign-in/fault.js';
import { isFactorRefused, ProofForm } from './proof-form.js';

/** `onDone` is called once the session has begun. */
export function SecondStep({
  challenge,
  onDone,
  onBack,
}: {
  challenge: SecondFactorChallenge;
  onDone: () => Promise<void>;
  onBack: () => void;
}) {
  const t = useText(secondFactorText);
  const finish = useMutation({
    mutationFn: (proof: Proof) => finishSignIn({ token: challenge.token, ...proof }),
    onSuccess: onDone,
  });
  return (
    <>
      <PageHeader title={t.title} description={t.stepHint} />
      {!isFactorRefused(finish.error) && <SignInFault error={finish.error} />}
      <ProofForm
        challenge={challenge}
        error={finish.error}
        busy={finish.isPending || finish.isSuccess}
        submit={t.signIn}
        onProof={(proof) => finish.mutate(proof)}
      />
      <Button look="ghost" className="mt-4 w-full" onClick={onBack}>
        {t.startAgain}
      </Button>
      <p className="mt-6 text-sm text-soft">{t.lost}</p>
    </>
  );
}
