// Large amounts must be sent twice, so that a typing error does not move money.
import { fieldFault } from '#client/errors/fault.js';
import { parseUsd } from '#rules/money/money.js';
import type { OperationDeps } from '../../deps.js';

const field = 'confirm_amount_usd';

/** Checks the confirmation of a request whose total is `amountNanoUsd`. Raises invalid_request for a large amount that was not repeated, and for a repeated amount that differs. */
export function assertConfirmed(
  amountNanoUsd: bigint,
  body: { readonly [field]?: string | null | undefined },
  { config }: { readonly config: Pick<OperationDeps['config'], 'confirmAboveNanoUsd'> },
): void {
  const repeated = body[field] ?? undefined;
  if (repeated === undefined && amountNanoUsd > config.confirmAboveNanoUsd)
    throw fieldFault(field, 'confirm_amount', { amount_nano_usd: amountNanoUsd, above_nano_usd: config.confirmAboveNanoUsd });
  if (repeated !== undefined && parseUsd(repeated) !== amountNanoUsd)
    throw fieldFault(field, 'confirm_mismatch', { amount_nano_usd: amountNanoUsd });
}
