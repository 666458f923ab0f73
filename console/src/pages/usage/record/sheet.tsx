// The details of one call at the side; going back closes them.
import { useRef } from 'react';
import { Sheet } from '../../../ui/dialog.js';
import { RecordDetails, useRecordTitle } from './record.js';

export default function RecordSheet({ requestId }: { requestId: string | undefined }) {
  // The sheet keeps its content while it closes.
  const last = useRef(requestId);
  if (requestId !== undefined) last.current = requestId;
  return (
    <Sheet
      open={requestId !== undefined}
      onClose={() => history.back()}
      title={last.current !== undefined && <Title requestId={last.current} />}
    >
      {last.current !== undefined && <RecordDetails key={last.current} requestId={last.current} />}
    </Sheet>
  );
}

function Title({ requestId }: { requestId: string }) {
  return useRecordTitle(requestId);
}
