// The details of one call at the side; going back closes them.
import { useRef } from 'react';
import { usageText } from '../../i18n/usage.js';
import { useText } from '../../i18n/text.js';
import { Sheet } from '../../ui/dialog.js';
import { RecordDetails } from './record.js';

export default function RecordSheet({ requestId }: { requestId: string | undefined }) {
  const t = useText(usageText);
  // The sheet keeps its content while it closes.
  const last = useRef(requestId);
  if (requestId !== undefined) last.current = requestId;
  return (
    <Sheet open={requestId !== undefined} onClose={() => history.back()} title={t.record}>
      {last.current !== undefined && <RecordDetails key={last.current} requestId={last.current} />}
    </Sheet>
  );
}
