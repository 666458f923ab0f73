// Large amounts are said twice, so that a slip of the finger does not move them.
import { AppError } from '#client/errors/app-error.js';
import { formatUsd, parseUsd } from '#rules/money.js';
import type { ConsoleDeps } from '../../deps.js';

/** `amountNanoUsd` is all that the request gives away or takes. Raises invalid_request when it is large, and was not said again or not the same. */
export function assertConfirmed(
  amountNanoUsd: bigint,
  body: { readonly confirm_amount_usd?: string | null | undefined },
  { config }: { readonly config: Pick<ConsoleDeps['config'], 'confirmAboveNanoUsd'> },
): void {
  const again = body.confirm_amount_usd == null ? undefined : parseUsd(body.confirm_amount_usd);
  if (again === undefined ? amountNanoUsd <= config.confirmAboveNanoUsd : again === amountNanoUsd) return;
  throw new AppError(
    'invalid_request',
    again === undefined
      ? `confirm_amount_usd: amounts above $${formatUsd(config.confirmAboveNanoUsd)} have to be said twice; send ${formatUsd(amountNanoUsd)} here again`
      : `confirm_amount_usd: is not the amount, which is ${formatUsd(amountNanoUsd)}`,
    { details: { field: 'confirm_amount_usd' } },
  );
}
