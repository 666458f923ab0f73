// PaymentService, one line per RPC.
import { callContext } from '#client/call-context.js';
import type { PaymentService } from '#proto/ledger/v1/payments.js';
import type { PaymentDeps } from './deps.js';
import { beginPayment } from './rpcs/begin-payment.js';
import { getPayment } from './rpcs/get-payment.js';
import { getPaymentOptions } from './rpcs/get-payment-options.js';
import { recordPaymentEvent } from './rpcs/record-payment-event.js';

/** Returns the implementation of the contract over these dependencies. */
export function paymentService(deps: PaymentDeps): PaymentService {
  return {
    getPaymentOptions: (request, context = unknownCaller) => getPaymentOptions(request, context, deps),
    beginPayment: beginPayment(deps),
    getPayment: getPayment(deps),
    recordPaymentEvent: (request, context = unknownCaller) => recordPaymentEvent(request, context, deps),
  };
}

/** The generated interface leaves the context optional; a transport always passes one. */
const unknownCaller = callContext({ caller: 'unknown' });
