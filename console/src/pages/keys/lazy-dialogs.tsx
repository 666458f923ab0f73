// The dialogs of keys, fetched when the first of them is wanted. All at once: what shows a secret must be here before the secret is made.
import { type ComponentProps, lazy, Suspense } from 'react';
import type { CreateKeyDialog } from './create-key.js';
import type { KeyDialogs } from './key-dialogs.js';
import type { RevealKeyDialog } from './reveal-key.js';

const all = () => Promise.all([import('./create-key.js'), import('./key-dialogs.js'), import('./reveal-key.js')]);

const LazyCreate = lazy(async () => ({ default: (await all())[0].CreateKeyDialog }));
const LazyDialogs = lazy(async () => ({ default: (await all())[1].KeyDialogs }));
const LazyReveal = lazy(async () => ({ default: (await all())[2].RevealKeyDialog }));

/** Makes a key. */
export function CreateKey(props: ComponentProps<typeof CreateKeyDialog>) {
  return (
    <Suspense>
      <LazyCreate {...props} />
    </Suspense>
  );
}

/** Changes, rotates or revokes a key. */
export function ChangeKey(props: ComponentProps<typeof KeyDialogs>) {
  return props.open === undefined ? null : (
    <Suspense>
      <LazyDialogs {...props} />
    </Suspense>
  );
}

/** Shows a secret, this once. */
export function RevealKey(props: ComponentProps<typeof RevealKeyDialog>) {
  return (
    <Suspense>
      <LazyReveal {...props} />
    </Suspense>
  );
}
