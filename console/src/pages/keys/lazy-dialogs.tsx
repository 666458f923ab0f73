// The dialogs of keys, loaded together when the first of them is opened: the dialog that shows a secret must be loaded before the secret is created.
import { type ComponentProps, lazy, Suspense } from 'react';
import { serverFile } from '../../session/server-file.js';
import { LazyDialog } from '../../ui/lazy-dialog.js';
import type { CreateKeyDialog } from './form/create-key.js';
import type { KeyDialogs } from './key-dialogs.js';
import type { RevealKeyDialog } from './secret/reveal-key.js';

const all = () =>
  serverFile(() => Promise.all([import('./form/create-key.js'), import('./key-dialogs.js'), import('./secret/reveal-key.js')]));

const LazyCreate = lazy(async () => ({ default: (await all())[0].CreateKeyDialog }));
const LazyDialogs = lazy(async () => ({ default: (await all())[1].KeyDialogs }));
const LazyReveal = lazy(async () => ({ default: (await all())[2].RevealKeyDialog }));

/** Creates a key. */
export function CreateKey(props: ComponentProps<typeof CreateKeyDialog>) {
  return (
    <LazyDialog onClose={props.onClose}>
      <LazyCreate {...props} />
    </LazyDialog>
  );
}

/** Changes, rotates or revokes a key. */
export function ChangeKey(props: ComponentProps<typeof KeyDialogs>) {
  return props.open === undefined ? null : (
    <LazyDialog onClose={props.onClose}>
      <LazyDialogs {...props} />
    </LazyDialog>
  );
}

/** Shows a secret once. */
export function RevealKey(props: ComponentProps<typeof RevealKeyDialog>) {
  return (
    <Suspense>
      <LazyReveal {...props} />
    </Suspense>
  );
}
