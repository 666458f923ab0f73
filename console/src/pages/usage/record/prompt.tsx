// The prompt and the answer of a call whose project logs them. They are fetched when the user wants to see them, because every read is audited.
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { deletePrompt, getPrompt, type PromptLog, type UsageRecordDetail } from '../../../api/usage.js';
import { promptLogText } from '../../../i18n/prompt-log.js';
import { useText } from '../../../i18n/text.js';
import { useAccount, useIsMember } from '../../../session/account.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import { CodeBlock } from '../../../ui/code-block.js';
import { ConfirmDialog } from '../../../ui/dialog.js';
import { Section } from '../../../ui/layout.js';
import { ErrorNotice } from '../../../ui/notice.js';
import { saveFile } from '../../../ui/save-file.js';
import { toast } from '../../../ui/toasts/toast.js';
import { When } from '../../../ui/values.js';

export function RecordPrompt({ record }: { record: UsageRecordDetail }) {
  const account = useAccount();
  const isMember = useIsMember();
  const t = useText(promptLogText);
  const { request_id: requestId, prompt_log: state } = record;
  const loading = useMutation({ mutationFn: () => getPrompt(account.id, requestId) });
  if (state === null) return null;
  const isKept = state === 'kept' || state === 'truncated';
  const mayRead = isMember && account.can('change keys', record.project_id);
  return (
    <Section title={t.title} description={t[state]}>
      {loading.error !== null && <ErrorNotice error={loading.error} />}
      {isKept && !mayRead && <p className="text-soft">{t.mayNot}</p>}
      {isKept && mayRead && loading.data === undefined && (
        <Button onClick={() => loading.mutate()} busy={loading.isPending}>
          {t.show}
        </Button>
      )}
      {loading.data !== undefined && <Bodies requestId={requestId} log={loading.data} />}
    </Section>
  );
}

function Bodies({ requestId, log }: { requestId: string; log: PromptLog }) {
  const account = useAccount();
  const t = useText(promptLogText);
  const client = useQueryClient();
  const [isDeleting, setDeleting] = useState(false);
  const deletion = useMutation({
    mutationFn: () => deletePrompt(account.id, requestId),
    onSuccess: () => {
      toast(t.wasDeleted);
      void client.invalidateQueries({ queryKey: ['usage', account.id, 'record', requestId] });
    },
  });
  const save = (): void => saveFile(new Blob([JSON.stringify(log, null, 2)], { type: 'application/json' }), `${requestId}.json`);
  return (
    <div className="flex flex-col gap-4">
      <Body title={t.prompt} text={log.request_body} isCut={log.request_truncated} />
      {log.answer_body === null ? (
        <p className="text-soft">{t.noAnswer}</p>
      ) : (
        <Body title={t.answer} text={log.answer_body} isCut={log.answer_truncated} />
      )}
      {log.answer_partial && <p className="text-soft">{t.partial}</p>}
      <div className="flex flex-wrap items-center gap-3">
        <Button size="small" onClick={save}>
          {t.download}
        </Button>
        <Button size="small" look="danger" onClick={() => setDeleting(true)}>
          {t.delete}
        </Button>
        <span className="text-sm text-soft">
          {t.until} <When at={log.expires_at} style="minute" />
        </span>
      </div>
      <ConfirmDialog
        open={isDeleting}
        onClose={() => setDeleting(false)}
        onConfirm={() => deletion.mutate()}
        title={t.deleteTitle}
        description={t.deleteHint}
        confirm={t.delete}
        busy={deletion.isPending}
      >
        {deletion.error !== null && <ErrorNotice error={deletion.error} />}
      </ConfirmDialog>
    </div>
  );
}

function Body({ title, text, isCut }: { title: string; text: string; isCut: boolean }) {
  const t = useText(promptLogText);
  return (
    <div>
      <h3 className="mb-1 flex items-center gap-2 font-medium">
        {title} {isCut && <Badge tone="warn">{t.cut}</Badge>}
      </h3>
      <CodeBlock code={indented(text)} label={title} />
    </div>
  );
}

/** Returns JSON with one line per field, and a truncated text unchanged. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
